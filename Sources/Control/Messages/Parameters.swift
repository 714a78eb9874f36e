import Failure

// Parameters and replies of the methods, as in io.latchkey.varlink.

struct StatusReply: Codable {
    var status: Status

    enum CodingKeys: String, CodingKey { case status }
}

struct LockParameters: Codable {
    var now: Bool?
    var wait: Bool?
    var deep: Bool?
}

struct HoldParameters: Codable {
    var seconds: Double
    var command: String?
    var because: String?
}

struct HoldReply: Codable {
    /// What was granted.
    var seconds: Double
    /// Only in the last reply.
    var ended: HoldEnd?
}

struct UnlockParameters: Codable {
    var kind: SecretKind?
    var secret: Int
    var lastGuess: Bool?

    var opener: Opener { Opener(kind, lastGuess: lastGuess) }
}

struct ChangePasscodeParameters: Codable {
    var old: Int
    var new: Int
    var weak: Bool?
    var kind: SecretKind?
    var lastGuess: Bool?

    var opener: Opener { Opener(kind, lastGuess: lastGuess) }
}

struct SlotsReply: Codable {
    var slots: [Slot]
}

struct AddSlotParameters: Codable {
    var kind: SecretKind?
    var secret: Int
    var newKind: SecretKind
    var new: Int?
    var publicKey: String?
    var securityKey: NewSecurityKey?
    var name: String?
    var weak: Bool?
    var lastGuess: Bool?

    var opener: Opener { Opener(kind, lastGuess: lastGuess) }
}

struct RemoveSlotParameters: Codable {
    var kind: SecretKind?
    var secret: Int
    var slot: Int
    var lastGuess: Bool?

    var opener: Opener { Opener(kind, lastGuess: lastGuess) }
}

struct SlotReply: Codable {
    var slot: Int
}

struct ExplainParameters: Codable {
    var file: Int
    /// The bytes of the name, which need not be text.
    var name: [UInt8]?
}

struct ExplainReply: Codable {
    var explanation: Explanation
}

struct AcceptParameters: Codable {
    var file: Int?
}

struct EraseReply: Codable {
    var deviceKey: String
}

struct MonitorParameters: Codable {
    var since: Int?
    var instance: String?

    /// Nil unless both parameters are given: a number without an instance may be another daemon's.
    var position: MonitorPosition? {
        guard let since, let instance else { return nil }
        return MonitorPosition(instance: instance, sequence: since)
    }
}

struct ClassesParameters: Codable {
    /// So many that call and reply fit into a message.
    static let limit = 5_000

    var inodes: [UInt64]
}

struct ClassesReply: Codable {
    var classes: [String]
}

struct UnmountParameters: Codable {
    var lazy: Bool?
}

struct InterfaceParameters: Codable {
    var interface: String
}

struct InterfaceReply: Codable {
    var description: String
}

/// The reply to `org.varlink.service.GetInfo`.
public struct ServiceInformation: Codable, Hashable, Sendable {
    public var vendor: String
    public var product: String
    public var version: String
    public var url: String
    public var interfaces: [String]
}

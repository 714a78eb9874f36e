public import Failure
public import Posix

/// The progress of a rotation; the type `Rotation` of `io.latchkey`.
public struct Rotation: Codable, Hashable, Sendable {
    public enum Phase: String, Codable, Hashable, Sendable {
        /// It waits for an unlock, or for the next try.
        case waiting
        /// Files are being rewrapped for the new keys.
        case renewing
        /// All files have the new keys. This is made durable, then the previous keys are removed.
        case finishing
    }

    public var phase: Phase
    /// The fraction of the tree that this walk has looked at, approximately: 0 to 1.
    public var done: Double
    /// Number of files that this walk has looked at.
    public var files: Int
    /// Number of files rewrapped since the vault was mounted.
    public var renewed: Int
    /// Number of files and folders of this walk for which that failed.
    public var failed: Int
    /// The reason of the first failure, or why the rotation has not ended.
    public var failure: String?

    public init(
        phase: Phase, done: Double = 0, files: Int = 0, renewed: Int = 0, failed: Int = 0, failure: String? = nil
    ) {
        self.phase = phase
        self.done = done
        self.files = files
        self.renewed = renewed
        self.failed = failed
        self.failure = failure
    }
}

/// The parameters of a rotation that begins.
public struct NewRotation: Sendable {
    public var opener: Opener
    /// The secret that opens the vault now; the daemon reads it to its end.
    public var secret: Descriptor
    /// The text of a new recovery key; nil for none.
    public var recoveryKey: Descriptor?
    /// The numbers of the slots that are removed.
    public var dropping: [Int]

    public init(_ opener: Opener, secret: Descriptor, recoveryKey: Descriptor?, dropping: [Int]) {
        self.opener = opener
        self.secret = secret
        self.recoveryKey = recoveryKey
        self.dropping = dropping
    }
}

struct RotateParameters: Codable, Equatable {
    var kind: SecretKind?
    var secret: Int?
    var recoveryKey: Int?
    var dropping: [Int]?
    var lastGuess: Bool?
}

extension ControlClient {
    /// Begins a rotation of the vault's keys.
    ///
    /// - Parameter new: nil to continue an unfinished rotation.
    public func rotate(_ new: NewRotation?) throws(Failure) -> Status {
        var parameters = RotateParameters()
        var descriptors: [Descriptor] = []
        if let new {
            parameters.kind = new.opener.kind
            parameters.lastGuess = new.opener.lastGuess
            parameters.dropping = new.dropping
            parameters.secret = 0
            descriptors.append(new.secret)
            if let key = new.recoveryKey {
                parameters.recoveryKey = 1
                descriptors.append(key)
            }
        }
        let reply: StatusReply = try call("Rotate", parameters, descriptors)
        return reply.status
    }
}

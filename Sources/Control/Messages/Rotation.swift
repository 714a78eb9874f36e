public import Failure
public import Posix

/// How far the files of a vault are from having its new keys; the type `Rotation` of `io.latchkey`.
public struct Rotation: Codable, Hashable, Sendable {
    public enum Phase: String, Codable, Hashable, Sendable {
        /// For an unlock, or for the next try.
        case waiting
        /// Files are given the new keys.
        case renewing
        /// All have them: that is made durable, and then the old keys go.
        case finishing
    }

    public var phase: Phase
    /// Of how much of the tree this walk has looked at, about: 0 to 1.
    public var done: Double
    /// Files that this walk has looked at.
    public var files: Int
    /// Files that were given the new keys since the vault was mounted.
    public var renewed: Int
    /// Files and folders of this walk with which that could not be done.
    public var failed: Int
    /// Why not with the first; why it has not ended.
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

/// What a rotation begins with.
public struct NewRotation: Sendable {
    public var opener: Opener
    /// What opens the vault now, to be read to its end.
    public var secret: Descriptor
    /// A new recovery key, as text; nil for none.
    public var recoveryKey: Descriptor?
    /// The slots that go.
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
    /// Begins to give the vault's files new keys.
    ///
    /// - Parameter new: nil to go on with what is not finished.
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

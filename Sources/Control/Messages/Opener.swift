public import Failure

/// How a call opens the vault; the secret is passed as a descriptor.
public struct Opener: Hashable, Sendable {
    public var kind: SecretKind
    /// Whether a passcode is tried also if it is the last guess, after which a wrong one erases the vault's keys.
    public var mayBeLast: Bool

    public init(_ kind: SecretKind, mayBeLast: Bool = false) {
        self.kind = kind
        self.mayBeLast = mayBeLast
    }

    /// From a call's parameters; without a kind it is a passcode.
    init(_ kind: SecretKind?, lastGuess: Bool?) { self.init(kind ?? .passcode, mayBeLast: lastGuess ?? false) }

    /// For a call's parameters: absent if false.
    var lastGuess: Bool? { mayBeLast ? true : nil }
}

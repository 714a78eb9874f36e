public import Failure

/// What somebody opens a vault with, in a call.
public struct Opener: Hashable, Sendable {
    public var kind: SecretKind
    /// Whether a passcode is tried also where it is the last guess: a wrong one erases the vault's keys then.
    public var mayBeLast: Bool

    public init(_ kind: SecretKind, mayBeLast: Bool = false) {
        self.kind = kind
        self.mayBeLast = mayBeLast
    }

    /// As a call names it; a passcode where it names none.
    init(_ kind: SecretKind?, lastGuess: Bool?) { self.init(kind ?? .passcode, mayBeLast: lastGuess ?? false) }

    /// For the parameters of a call: absent where there is nothing to say.
    var lastGuess: Bool? { mayBeLast ? true : nil }
}

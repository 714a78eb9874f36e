public import Control

/// Why a daemon did not start, for the command that started it to say in words.
public struct StartError: Error, Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable {
        /// `guesses` says how many wrong ones there may still be, where there is a limit.
        case wrongPasscode = "wrong-passcode"
        case wrongRecoveryKey = "wrong-recovery-key"
        /// The detail is the number of seconds until the next passcode is tried.
        case tooManyGuesses = "too-many-guesses"
        /// No passcode is tried any more.
        case noMoreGuesses = "no-more-guesses"
        /// One more wrong passcode would erase the keys, and nobody has said that it may. The detail is the limit.
        case lastGuess = "last-guess"
        /// The keys are destroyed. The detail says what could not be; `guesses` is there if this was the last wrong passcode.
        case erased
        /// The administrator's policy forbids it; the detail says how.
        case forbidden
        /// The detail says which kind of key opens nothing here.
        case wrongKey = "wrong-key"
        /// The detail is the number of bytes.
        case passcodeLength = "passcode-length"
        case notAVault = "not-a-vault"
        /// The detail is the format's version, or says which feature is unknown.
        case foreignVersion = "foreign-version"
        case damaged
        case tampered
        /// The detail is the path at which the device key was looked for.
        case deviceKeyMissing = "device-key-missing"
        /// The detail is the path of what is no device key file.
        case notADeviceKey = "not-a-device-key"
        case deviceKeyMismatch = "device-key-mismatch"
        /// Another process has the vault open.
        case vaultInUse = "vault-in-use"
        /// Another vault with the same volume ID, such as a copy of this one, is mounted. The detail is its socket.
        case volumeServed = "volume-served"
        /// The detail says what is wrong with it.
        case mountPoint = "mount-point"
        /// The detail says what failed.
        case failed
    }

    public var kind: Kind
    public var detail: String
    public var guesses: Guesses?

    public init(_ kind: Kind, _ detail: String = "", guesses: Guesses? = nil) {
        self.kind = kind
        self.detail = detail
        self.guesses = guesses
    }
}

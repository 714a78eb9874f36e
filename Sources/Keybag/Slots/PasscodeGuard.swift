public import Crypto
public import Failure

/// A chip of this machine that releases a secret for a passcode, counts wrong ones, and refuses after too many.
///
/// Safe for any number of threads.
public protocol PasscodeGuard: Sendable {
    /// Seals a secret of 32 bytes; returns 1 to 1024 bytes that only this chip can unseal.
    ///
    /// - Parameter authorization: 32 bytes, derived from the passcode.
    func seal(_ secret: borrowing Secret, authorization: borrowing Secret) throws(Failure) -> [UInt8]

    /// The secret; nil if the authorization is wrong, which the chip counts.
    ///
    /// - Throws: `tooManyGuesses`, `hardware`.
    func unseal(_ sealed: [UInt8], authorization: borrowing Secret) throws(Failure) -> Secret?
}

public import Crypto
public import Failure

/// A chip of this machine that releases a secret for a passcode, counts wrong ones, and refuses after too many.
///
/// Any number of threads at once.
public protocol PasscodeGuard: Sendable {
    /// Seals a secret of 32 bytes: 1 to 1024 bytes, of use to this chip alone.
    ///
    /// - Parameter authorization: 32 bytes, derived from the passcode.
    func seal(_ secret: borrowing Secret, authorization: borrowing Secret) throws(Failure) -> [UInt8]

    /// The secret; nil, and counted, if the authorization is another.
    ///
    /// - Throws: `tooManyGuesses`, `hardware`.
    func unseal(_ sealed: [UInt8], authorization: borrowing Secret) throws(Failure) -> Secret?
}

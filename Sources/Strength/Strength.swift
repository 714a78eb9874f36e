internal import CCrypto
public import Crypto
import Glibc

/// An estimate of the guesses that an attacker who knows common choices needs for a passcode.
///
/// The method is that of zxcvbn (Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016): it
/// divides the passcode into words, repetitions, sequences, keyboard runs, dates and single characters, in the way that
/// costs an attacker least. The bytes are read in place and not copied; the ranks and hashes of parts, which would
/// reveal them, are in memory that is wiped before this returns.
public struct Strength: Hashable, Sendable {
    /// The base 2 logarithm of the number of guesses.
    public let bits: Double

    /// - Throws: `secureMemory` if memory cannot be allocated.
    public init(of passcode: borrowing Secret) throws(CryptoError) {
        // Made before the passcode is read: the table contains nothing of it.
        _ = WordTable.common
        defer { lk_wipe_stack() }
        bits = try passcode.withBytes { bytes throws(CryptoError) in
            try unsafe bytes.withUnsafeBytes { (bytes) throws(CryptoError) in
                try unsafe Estimator(SecretText(bytes)).bits()
            }
        }
    }

    init(bits: Double) { self.bits = bits }

    /// Seconds until half of the guesses are done, with `cost` seconds for each.
    public func seconds(perGuess cost: Double) -> Double { exp2(bits - 1) * cost }
}

internal import CCrypto
public import Crypto
import Glibc

/// How many guesses somebody who knows how people choose needs for a passcode, by estimate.
///
/// The method of zxcvbn (Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016): the passcode is
/// taken apart into words, repetitions, sequences, runs on the keyboard, dates and what is left, in the way that costs a
/// guesser least. The bytes are looked at where they lie and not copied; the ranks and hashes of parts, which tell of them, lie in
/// memory that is wiped before this returns.
public struct Strength: Hashable, Sendable {
    /// The base 2 logarithm of the number of guesses.
    public let bits: Double

    /// - Throws: `secureMemory` where there is no memory for it.
    public init(of passcode: borrowing Secret) throws(CryptoError) {
        // What is looked up in it: nothing of a passcode.
        _ = WordTable.common
        defer { lk_wipe_stack() }
        bits = try passcode.withBytes { bytes throws(CryptoError) in
            try unsafe bytes.withUnsafeBytes { (bytes) throws(CryptoError) in
                try unsafe Estimator(SecretText(bytes)).bits()
            }
        }
    }

    init(bits: Double) { self.bits = bits }

    /// Seconds until half of the guesses are done, at so many seconds a guess.
    public func seconds(perGuess cost: Double) -> Double { exp2(bits - 1) * cost }
}

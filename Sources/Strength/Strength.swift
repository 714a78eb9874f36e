public import Crypto
import Glibc

/// How many guesses somebody who knows how people choose needs for a passcode, by estimate.
///
/// The method of zxcvbn (Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016): the passcode is
/// taken apart into words, repetitions, sequences, runs on the keyboard, dates and what is left, in the way that costs a
/// guesser least. The bytes are looked at where they lie and not copied; but the ranks and hashes of parts, which stay in ordinary
/// memory until the process ends, tell of them. For a command that ends, not for a daemon.
public struct Strength: Hashable, Sendable {
    /// The base 2 logarithm of the number of guesses.
    public let bits: Double

    public init(of passcode: borrowing Secret) {
        bits = passcode.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { unsafe Estimator(SecretText($0)).bits() }
        }
    }

    init(bits: Double) { self.bits = bits }

    /// Seconds until half of the guesses are done, at so many seconds a guess.
    public func seconds(perGuess cost: Double) -> Double { exp2(bits - 1) * cost }
}

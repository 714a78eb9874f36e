import Crypto
import Failure
import Format
import Posix

// What the modules beneath throw, turned into this one's failure at its border.

extension Failure {
    init(_ error: FormatError) {
        switch error {
        case .tooShort: self = .damaged(reason: "the keybag is truncated")
        case .wrongMagic: self = .damaged(reason: "the keybag does not begin as one")
        case .unknownVersion(let version): self = .foreignVersion(version: Int(version))
        case .unknownFeature: self = .foreignFeature
        case .badField(let field): self = .damaged(reason: "the keybag's \(field) is not what the format allows")
        }
    }

    package static func crypto(_ error: CryptoError) -> Failure { .cryptography(reason: "\(error)") }

    static func cost(_ cost: Argon2Cost) -> Failure {
        .cost(memoryKiB: Int(cost.memoryKiB), passes: Int(cost.passes))
    }
}

/// The value of an expression, with its `CryptoError`s turned into failures.
func crypto<R: ~Copyable>(_ expression: @autoclosure () throws(CryptoError) -> R) throws(Failure) -> R {
    do { return try expression() } catch { throw .crypto(error) }
}

/// The value of an expression, with its `Errno`s turned into failures.
func io<R: ~Copyable>(
    _ doing: String, _ expression: @autoclosure () throws(Errno) -> R
) throws(Failure) -> R {
    do { return try expression() } catch { throw .io(error, doing: doing) }
}

/// The value of an expression, with its `FormatError`s turned into failures.
func format<R: ~Copyable>(_ expression: @autoclosure () throws(FormatError) -> R) throws(Failure) -> R {
    do { return try expression() } catch { throw Failure(error) }
}

import Crypto
import Failure
import Format
import Posix

// Errors of the modules below, translated into `Failure` where they enter this module.

extension Failure {
    init(_ error: FormatError) {
        switch error {
        case .tooShort: self = .damaged(reason: "the keybag is truncated")
        case .wrongMagic: self = .damaged(reason: "the first bytes of the keybag are not those of the format")
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

/// The value of an expression; a `CryptoError` becomes a `Failure`.
func crypto<R: ~Copyable>(_ expression: @autoclosure () throws(CryptoError) -> R) throws(Failure) -> R {
    do { return try expression() } catch { throw .crypto(error) }
}

/// The value of an expression; an `Errno` becomes a `Failure`.
func io<R: ~Copyable>(
    _ doing: Printable, _ expression: @autoclosure () throws(Errno) -> R
) throws(Failure) -> R {
    do { return try expression() } catch { throw .io(error, doing: doing) }
}

/// The value of an expression; a `FormatError` becomes a `Failure`.
func format<R: ~Copyable>(_ expression: @autoclosure () throws(FormatError) -> R) throws(Failure) -> R {
    do { return try expression() } catch { throw Failure(error) }
}

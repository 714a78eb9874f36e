internal import CCrypto

/// The errors of cryptographic operations. The texts never contain secret bytes.
public enum CryptoError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A tag or a key wrap does not verify: wrong key, or modified bytes.
    case notAuthentic
    /// The locked heap cannot be set up, or is full; the text says what to do.
    case secureMemory(String)
    /// The caller passed sizes or parameters that the algorithm does not accept.
    case invalidInput(String)
    /// OpenSSL or libargon2 failed, with this text.
    case library(String)

    public var description: String {
        switch self {
        case .notAuthentic: "not authentic"
        case .secureMemory(let text): text
        case .invalidInput(let text): "invalid input: \(text)"
        case .library(let text): "cryptographic library: \(text)"
        }
    }

    static var heapFull: CryptoError { .secureMemory("the locked memory for keys is full") }

    /// The last error in OpenSSL's queue of this thread; empties the queue.
    static func fromOpenSSL(_ doing: String) -> CryptoError {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = unsafe ERR_reason_error_string(code) else { return .library(doing) }
        return .library("\(doing): \(unsafe String(cString: reason))")
    }
}

/// Turns OpenSSL's results, where only 1 is success, into a typed error.
@inline(__always)
func check(_ result: Int32, _ doing: @autoclosure () -> String) throws(CryptoError) {
    guard result == 1 else { throw .fromOpenSSL(doing()) }
}

/// Checks the caller's input.
@inline(__always)
func require(_ condition: Bool, _ text: @autoclosure () -> String) throws(CryptoError) {
    guard condition else { throw .invalidInput(text()) }
}

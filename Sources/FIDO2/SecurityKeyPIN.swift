public import Crypto

/// A security key's PIN, or none, in libfido2's format: zero-terminated, and always in locked memory.
public struct SecurityKeyPIN: ~Copyable, Sendable {
    private let text: Secret
    public let isGiven: Bool

    /// No PIN.
    public init() throws(FIDO2Error) {
        do { text = try Secret(count: 1) } catch { throw .crypto(error) }
        isGiven = false
    }

    /// - Parameter typed: 4 to 63 bytes.
    /// - Throws: `malformedPIN` for others; they are not sent to the key, which might count them.
    public init(_ typed: borrowing Secret) throws(FIDO2Error) {
        let hasZero = typed.withBytes { bytes in
            bytes.byteOffsets.contains { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == 0 }
        }
        guard 4...63 ~= typed.count, !hasZero else { throw .malformedPIN }
        do {
            text = try Secret(joining: typed, Secret(count: 1))
        } catch { throw .crypto(error) }
        isGiven = true
    }

    func withText<R>(_ body: (UnsafePointer<CChar>?) -> R) -> R {
        guard isGiven else { return body(nil) }
        return text.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { unsafe body($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
        }
    }
}

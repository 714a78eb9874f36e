public import Crypto
import Failure
import Format

/// An organisation's key pair for escrow: the private key opens every vault that has a slot for it.
public enum EscrowKey {
    /// Size of either X25519 key.
    public static let byteCount = 32

    /// A private key in hexadecimal digits, as commands and daemon exchange it.
    /// - Parameter key: 32 bytes.
    public static func encode(_ key: borrowing Secret) throws(CryptoError) -> Secret {
        let digits = Array("0123456789abcdef".utf8)
        return try Secret(count: 2 * key.count) { (text) throws(CryptoError) in
            key.withBytes { key in
                for index in 0..<key.byteCount {
                    let byte = Int(key.byte(index))
                    text.storeBytes(of: digits[byte >> 4], toByteOffset: 2 * index, as: UInt8.self)
                    text.storeBytes(of: digits[byte & 15], toByteOffset: 2 * index + 1, as: UInt8.self)
                }
            }
        }
    }

    /// - Throws: `wrong(.escrowKey)` for text that is not 64 hexadecimal digits.
    static func decode(_ text: borrowing Secret) throws(Failure) -> Secret {
        guard text.count == 2 * byteCount else { throw .wrong(.escrowKey) }
        var isRight = true
        let key = try crypto(
            try Secret(count: byteCount) { (key) throws(CryptoError) in
                text.withBytes { text in
                    for index in 0..<byteCount {
                        let (high, low) = (value(of: text.byte(2 * index)), value(of: text.byte(2 * index + 1)))
                        guard let high, let low else { return isRight = false }
                        key.storeBytes(of: high << 4 | low, toByteOffset: index, as: UInt8.self)
                    }
                }
            })
        guard isRight else { throw .wrong(.escrowKey) }
        return key
    }

    static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension EscrowSlot {
    /// The slot for `publicKey`. The ephemeral private key is wiped before this returns.
    static func wrap(
        _ bundle: borrowing Bundle, for publicKey: [UInt8], _ volume: VolumeIdentifier, _ head: SlotHead,
        _ label: SlotLabel
    ) throws(CryptoError) -> EscrowSlot {
        let ephemeral = try X25519.generate()
        let shared = try X25519.agree(ephemeral.privateKey, unsafe publicKey.span.bytes)
        let key = try key(shared, ephemeral: ephemeral.publicKey, publicKey, volume)
        return EscrowSlot(
            head, publicKey: publicKey, ephemeralKey: ephemeral.publicKey,
            wrappedBundle: try KeyWrap.wrap(bundle.bytes, under: key), label: label)
    }

    /// Nil if the slot is for another private key.
    func open(_ privateKey: borrowing Secret, _ volume: VolumeIdentifier) throws(Failure) -> Bundle? {
        guard try crypto(try X25519.publicKey(of: privateKey)) == publicKey else { return nil }
        let shared = try crypto(try X25519.agree(privateKey, unsafe ephemeralKey.span.bytes))
        let key = try crypto(try Self.key(shared, ephemeral: ephemeralKey, publicKey, volume))
        return try Bundle.unwrap(wrappedBundle, under: key)
    }

    /// One-pass Diffie-Hellman, NIST SP 800-56A section 6.2.2.2: both public keys are bound into the key.
    private static func key(
        _ shared: borrowing Secret, ephemeral: [UInt8], _ publicKey: [UInt8], _ volume: VolumeIdentifier
    ) throws(CryptoError) -> Secret {
        try .derived(from: shared, salt: volume.bytes, info: Label.escrow + ephemeral + publicKey)
    }
}

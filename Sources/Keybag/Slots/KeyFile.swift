public import Crypto
import Failure

/// A key file: one line of text, "LKKEY-" and 32 bytes as `RecoveryKeyText` writes them. docs/FORMAT.md, "The key
/// file".
public enum KeyFile {
    private static let head = Array("LKKEY-".utf8)

    /// A new key file's text, without the newline.
    public static func generate() throws(CryptoError) -> Secret {
        let key = try RecoveryKeyText.encode(Secret(random: RecoveryKeyText.keyByteCount))
        return try Secret(joining: Secret(copying: unsafe head.span.bytes), key)
    }

    /// The key in a key file's text: 32 bytes.
    /// - Throws: `notAKeyFile`.
    static func decode(_ text: borrowing Secret) throws(Failure) -> Secret {
        guard text.count > head.count, text.withBytes({ $0.array(0..<head.count) }) == head else { throw .notAKeyFile }
        do throws(Failure) {
            return try RecoveryKeyText.decode(try crypto(try text.slice(head.count..<text.count)))
        } catch .malformedRecoveryKey { throw .notAKeyFile }
    }
}

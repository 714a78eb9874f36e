internal import CCrypto

/// The processor's features, as OpenSSL detects them.
public enum Processor {
    /// Whether the processor has AES instructions: ten times as fast, and in a time that does not depend on the key.
    public static func usesAESInstructions() throws(CryptoError) -> Bool {
        _ = try Library.loaded()
        return lk_uses_aes_instructions() != 0
    }
}

internal import CCrypto

/// What OpenSSL finds in the processor.
public enum Processor {
    /// Whether AES is done by instructions made for it: ten times as fast, and in a time that tells nothing of the key.
    public static func usesAESInstructions() throws(CryptoError) -> Bool {
        _ = try Library.loaded()
        return lk_uses_aes_instructions() != 0
    }
}

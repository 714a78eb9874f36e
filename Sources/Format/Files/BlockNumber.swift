/// Numbers of blocks: in a file that has them, each block that is encrypted gets a higher one than all blocks and
/// headers of the file before it. docs/FORMAT.md, "Numbered blocks".
public enum BlockNumber {
    /// No higher one is given or remembered: a thief of the keys could make one that no later one surpasses.
    public static let highest: UInt64 = 1 << 62
    /// For the key under which nonces are encrypted.
    public static let label = "latchkey block numbers"

    /// Puts a number into the first 8 bytes of the `index`-th nonce, before that is encrypted.
    public static func store(_ number: UInt64, inNonce index: Int, of nonces: inout MutableRawSpan) {
        nonces.store(number, at: index * BlockGeometry.nonceSize)
    }

    /// The number in the `index`-th nonce, after that was decrypted.
    public static func inNonce(_ index: Int, of nonces: RawSpan) -> UInt64 {
        nonces.integer(at: index * BlockGeometry.nonceSize, as: UInt64.self)
    }
}

/// Where the blocks of a file lie in its backing file.
public enum BlockGeometry {
    /// Bytes of plaintext in every block but the last.
    public static let blockSize: UInt64 = 4096
    public static let nonceSize = 16
    public static let tagSize = 16
    /// How many bytes a stored block has beyond its plaintext: nonce and tag.
    public static let overhead: UInt64 = 32
    public static let storedBlockSize = blockSize + overhead
    /// The possible sizes of a stored block: it holds at least one byte.
    public static let storedSizes = Int(overhead) + 1...Int(storedBlockSize)
    /// Bytes of associated data: volume ID, file ID, block number.
    public static let associatedDataSize = 40
    /// No file has more.
    public static let mostBlocks = FileHeader.largestLength / blockSize
    static let headerSize = UInt64(FileHeader.byteCount)

    /// The block that holds the byte at `offset` of the plaintext.
    public static func block(at offset: UInt64) -> UInt64 { offset / blockSize }

    /// How many blocks `length` bytes of plaintext fill, the last one perhaps in part.
    public static func blockCount(forLength length: UInt64) -> UInt64 {
        length / blockSize + (length % blockSize == 0 ? 0 : 1)
    }

    /// The offset of a block in the backing file.
    public static func backingOffset(ofBlock block: UInt64) -> UInt64 { headerSize + block * storedBlockSize }

    /// The size of a backing file that stores `length` bytes of plaintext.
    public static func backingSize(forLength length: UInt64) -> UInt64 {
        let tail = length % blockSize
        return backingOffset(ofBlock: length / blockSize) + (tail == 0 ? 0 : tail + overhead)
    }

    /// How many bytes of plaintext a backing file of `size` bytes can store.
    public static func storedLength(forBackingSize size: UInt64) -> UInt64 {
        guard size > headerSize else { return 0 }
        let (blocks, rest) = (size - headerSize).quotientAndRemainder(dividingBy: storedBlockSize)
        return blocks * blockSize + (rest > overhead ? rest - overhead : 0)
    }

    /// Writes the 40 bytes of associated data that bind a block to its file and number.
    public static func storeAssociatedData(
        volume: VolumeIdentifier, file: FileIdentifier, block: UInt64, into bytes: inout MutableRawSpan
    ) {
        volume.store(into: &bytes, at: 0)
        file.store(into: &bytes, at: 16)
        bytes.store(block, at: 32)
    }
}

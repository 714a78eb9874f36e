import Format
import Posix
import Synchronization
import Vault
import Writeback

/// The blocks of one file under check. Several workers may verify them. Thread-safe.
final class CheckedContents: Sendable {
    let file: File
    /// The confirmed length: every block below it must verify, or be a hole that the header allows.
    let length: UInt64
    let firstSparseBlock: UInt64
    /// The size of the backing file.
    let size: UInt64
    /// Whether the journal has records of the file, perhaps without blocks.
    let isInJournal: Bool
    /// The blocks in the journal, in order.
    private let journaledBlocks: [UInt64]
    let spot: Spot
    private let state = Mutex(State())

    private struct State {
        var lost = LostRanges()
        /// The share of one block in the whole.
        var part: UInt64 = 0
        /// Pieces that are not verified yet.
        var pieces = 0
    }

    init(_ file: File, size: UInt64, isInJournal: Bool, at spot: Spot) {
        self.file = file
        let header = file.header
        length = header.length
        firstSparseBlock = header.firstSparseBlock
        self.size = size
        self.isInJournal = isInJournal
        journaledBlocks = isInJournal ? file.state.journal.blocks.keys.sorted() : []
        self.spot = spot
    }

    var blockCount: UInt64 { BlockGeometry.blockCount(forLength: length) }

    var part: UInt64 {
        get { state.withLock { $0.part } }
        set { state.withLock { $0.part = newValue } }
    }

    var lost: LostRanges { state.withLock { $0.lost } }

    /// The next block at or after `block` that lies in the journal.
    func firstJournaledBlock(from block: UInt64) -> UInt64 {
        journaledBlocks.first { $0 >= block } ?? .max
    }

    /// Notes that these blocks cannot be read.
    func lose(_ blocks: Range<UInt64>) {
        let bytes = bytes(of: blocks)
        if !bytes.isEmpty { state.withLock { $0.lost.add(bytes) } }
    }

    /// The plaintext range of some blocks.
    func bytes(of blocks: Range<UInt64>) -> Range<UInt64> {
        min(
            blocks.lowerBound * BlockGeometry.blockSize, length)..<min(
                blocks.upperBound * BlockGeometry.blockSize, length)
    }

    /// The first block that is incomplete or missing because the backing file is too short.
    var firstMissingBlock: UInt64 {
        guard size < BlockGeometry.backingSize(forLength: length), !isInJournal else { return blockCount }
        return min(blockCount, BlockGeometry.storedLength(forBackingSize: size) / BlockGeometry.blockSize)
    }

    var isTruncated: Bool { firstMissingBlock < blockCount }

    func loseMissing() { lose(firstMissingBlock..<blockCount) }

    func begin() {
        state.withLock { $0.pieces += 1 }
    }

    /// Ends a piece. True if it was the last one.
    func end() -> Bool {
        state.withLock {
            $0.pieces -= 1
            return $0.pieces == 0
        }
    }
}

import Format
import Keybag
import Posix
import Synchronization

/// The blocks of one file under check, by one worker or by several.
final class CheckedContents: Sendable {
    let file: Descriptor
    let header: FileHeader
    /// Of the backing file.
    let size: UInt64
    let name: Name
    let stored: Name
    let folder: CheckedFolder
    private let state = Mutex(State())

    private struct State {
        var lost = LostRanges()
        var key: FileKey?
        var part: UInt64 = 0
        /// Pieces that are still to be verified.
        var pieces = 0
    }

    init(file: Descriptor, size: UInt64, header: FileHeader, name: Name, _ stored: Name, in folder: CheckedFolder) {
        self.file = file
        self.size = size
        self.header = header
        self.name = name
        self.stored = stored
        self.folder = folder
    }

    var blockCount: UInt64 { BlockGeometry.blockCount(forLength: header.length) }

    var key: FileKey? {
        get { state.withLock { $0.key } }
        set { state.withLock { $0.key = newValue } }
    }

    /// What one block is of the whole.
    var part: UInt64 {
        get { state.withLock { $0.part } }
        set { state.withLock { $0.part = newValue } }
    }

    var lost: LostRanges { state.withLock { $0.lost } }

    func lose(_ lost: LostRanges) {
        state.withLock { $0.lost.add(lost) }
    }

    /// The plaintext bytes that blocks hold.
    func bytes(of blocks: Range<UInt64>) -> Range<UInt64> {
        min(
            blocks.lowerBound * BlockGeometry.blockSize, header.length)..<min(
                blocks.upperBound * BlockGeometry.blockSize, header.length)
    }

    /// Whole blocks below the length for which the backing file is too short.
    var firstMissingBlock: UInt64 {
        guard size < BlockGeometry.backingSize(forLength: header.length) else { return blockCount }
        let stored = BlockGeometry.storedLength(forBackingSize: size)
        return stored / BlockGeometry.blockSize
    }

    /// Notes what cannot be there, since the backing file ends before it.
    func loseMissing() {
        let missing = bytes(of: min(firstMissingBlock, blockCount)..<blockCount)
        guard !missing.isEmpty else { return }
        var lost = LostRanges()
        lost.add(missing)
        lose(lost)
    }

    func begin(pieces: Int) {
        state.withLock { $0.pieces += pieces }
    }

    /// Whether that was the last piece.
    func end() -> Bool {
        state.withLock {
            $0.pieces -= 1
            return $0.pieces == 0
        }
    }
}

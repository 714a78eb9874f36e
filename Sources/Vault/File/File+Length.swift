import Crypto
import Format
import Glibc
import Posix
import Store
import Writeback

extension File {
    /// The largest extension that is written as encrypted zeros; a larger one is a hole.
    static let largestFill: UInt64 = 1 << 20
    private static let zeros = [UInt8](repeating: 0, count: 64 << 10)

    /// Sets the length: ftruncate(2).
    public func truncate(to length: UInt64) throws(VaultError) {
        guard length <= FileHeader.largestLength else { throw .system(.EFBIG) }
        try changingLength { (key, scratch) throws(VaultError) in
            try truncateStaleTail(key, scratch)
            if length > state.length {
                try extend(to: length, key, scratch)
            } else if length < state.length {
                try shrink(to: length, key, scratch)
            }
            // A change of length shows as a change of contents, even if only a hole grew.
            noteModification()
        }
    }

    /// Runs `body`, which changes the length or makes holes, under the exclusive lock, with a key and room in the
    /// journal.
    func changingLength(_ body: (FileKey, Scratch) throws(VaultError) -> Void) throws(VaultError) {
        if outline.isUnproven { try prove() }
        // The last block, and the blocks behind the new end that lie below the durable end.
        let blocks = Int(BlockGeometry.blockCount(forLength: FileState.largestJournaledTruncation)) + 4
        try withRoom(Journal.roomForFile + Journal.roomForBlocks(blocks)) { (_) throws(VaultError) in
            let key = try currentKey()
            try vault.memory.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
                defer { scratch.wipePlain() }
                try body(key, scratch)
                try keepLength()
            }
            return true
        }
    }

    /// Extends the file to `length` with zeros, or leaves it as long as it was. Needs `lock` exclusively.
    func extend(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let before = state.length
        do throws(VaultError) {
            try grow(to: length, key, scratch)
        } catch {
            if state.length > before { try? shrink(to: before, key, scratch) }
            throw error
        }
    }

    private func grow(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        try flushTruncation(toReach: length)
        if length - state.length <= Self.largestFill {
            try fill(to: length, key, scratch)
            return
        }
        // The last block becomes a whole one. The hole begins behind it, and behind all blocks below the durable end,
        // which an earlier, longer file may have left there.
        if state.durable.blocks * BlockGeometry.blockSize > length { try checkpointAlone(CheckpointRequest()) }
        let blocks = max(BlockGeometry.blockCount(forLength: state.length), state.durable.blocks)
        try fill(to: blocks * BlockGeometry.blockSize, key, scratch)
        noteChange()
        state.header.firstSparseBlock = min(state.header.firstSparseBlock, blocks)
        let file = try writable()
        try backing { () throws(Errno) in
            try vault.store.truncate(file, to: Int64(BlockGeometry.backingSize(forLength: length)))
        }
        state.length = length
    }

    private func fill(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        if state.length < length { try putZeros(state.length..<length, key, scratch) }
    }

    /// Writes encrypted zeros. Needs `lock` exclusively.
    func putZeros(_ range: Range<UInt64>, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let zeros = Self.zeros
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(range.upperBound - offset, UInt64(zeros.count)))
            try unsafe zeros.span.bytes.withUnsafeBytes { (zeros) throws(VaultError) in
                try unsafe put(UnsafeRawBufferPointer(rebasing: zeros[..<count]), at: offset, key, scratch)
            }
            offset += UInt64(count)
        }
    }

    /// Truncates the file, or leaves it as it was. What lies behind the new end stays in the backing file until the new
    /// length is durable in a header. Needs `lock` exclusively.
    private func shrink(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let hasTail = length % BlockGeometry.blockSize > 0
        // Read first: if the block is damaged, nothing has changed yet.
        if hasTail {
            try prepare(scratch, key, .open)
            try loadBlock(BlockGeometry.block(at: length), index: 0, scratch, comparing: true)
        }
        noteChange()
        // Before the header, which has a higher generation then.
        let number = state.header.numbersBlocks ? state.drawNumbers(1) : nil
        let hasTailWritten = try lowerHeader(to: length, key, scratch)
        // After the header: the old block is a valid one of the new length too, with more bytes behind it.
        do throws(VaultError) {
            if hasTail && !hasTailWritten { try putTail(of: length, key, scratch) }
            try truncateBackingFile(isConfirmed: false)
            noteTruncated(to: BlockGeometry.blockCount(forLength: length), number)
        } catch {
            // The truncation has succeeded. The next write truncates the backing file.
            state.repair.mayHaveTail()
            return
        }
        // The truncation has succeeded. A later checkpoint lowers a durable end that is above the length.
        if state.checkpointsTruncation { try? checkpointAlone(CheckpointRequest()) }
    }

    /// Writes a header with the shorter length, all or nothing. If the last block must go into the journal, it goes
    /// there together with the header, from the scratch's first plain block; then this returns true.
    private func lowerHeader(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) -> Bool {
        let plan = state.truncation(to: length, isStampSpent: isStampSpent)
        // Before the length is lowered: this may flush the file or put a header in place.
        let isNamed = plan.header == .journal ? try beginRecords() : true
        let tail = plan.journalsTail && isNamed ? try sealTail(of: length, key, scratch) : nil
        let before = state
        state.willTruncate(to: length)
        do throws(VaultError) {
            switch plan.header {
            case .backingFile: try writeStampedHeader()
            // Of a file without a name, nothing is left that a header could tell of.
            case .journal: if isNamed { try journal(tail.map { [$0.block] } ?? [], of: scratch) }
            }
            if let tail { noteRewritten(tail.block.number..<tail.block.number + 1, tail.drawn) }
            return tail != nil
        } catch {
            state.takeBackTruncation(before)
            throw error
        }
    }

    /// Writes the last block of a file of `length` bytes again, from the scratch's first plain block.
    func putTail(of length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        guard length % BlockGeometry.blockSize > 0 else { return }
        let (block, drawn) = try sealTail(of: length, key, scratch)
        try putBlock(unsafe scratch.stored.bytes.extracting(block.range), as: block.number)
        noteRewritten(block.number..<block.number + 1, drawn)
    }

    /// Encrypts the last block of a file of `length` bytes, from the scratch's first plain block.
    ///
    /// - Returns: where it lies in the scratch, and the number in its nonce.
    private func sealTail(
        of length: UInt64, _ key: FileKey, _ scratch: Scratch
    ) throws(VaultError) -> (block: ScratchBlocks.Element, drawn: UInt64?) {
        let tail = Int(length % BlockGeometry.blockSize)
        let block = BlockGeometry.block(at: length)
        try prepare(scratch, key, .seal)
        let drawn = try drawNonces(1, key, scratch)
        let stored = unsafe scratch.stored(0, count: tail + Int(BlockGeometry.overhead))
        try unsafe seal(UnsafeRawBufferPointer(scratch.plain(0, count: tail)), as: block, into: stored, scratch)
        return ((block, 0..<stored.count), drawn)
    }

    /// Writes a stored block below the durable end into the journal, any other into the backing file.
    func putBlock(_ stored: RawSpan, as block: UInt64) throws(VaultError) {
        if state.firstInPlace(of: block...block) > block { return try journal(stored, asBlock: block) }
        let file = try writable()
        // If the write fails, a part of the block that was there may be gone.
        state.repair.keep(stored.array(0..<stored.byteCount), ofBlock: block)
        try backing { () throws(Errno) in
            try vault.store.write(stored, to: file, at: Int64(BlockGeometry.backingOffset(ofBlock: block)))
        }
        state.repair.didWrite(block)
    }
}

import Crypto
import Format
import Glibc
import Posix
import Store

extension File {
    /// The largest extension that is written as encrypted zeros; a larger one is a hole.
    static let largestFill: UInt64 = 1 << 20
    private static let zeros = [UInt8](repeating: 0, count: 64 << 10)

    /// A truncation of more than this is checkpointed at once: then the new blocks need not go through the journal.
    static let largestJournaledTruncation: UInt64 = 256 << 10

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
            // A change of length shows as a change of contents, also when it is a hole that grew.
            noteModification()
        }
    }

    /// Runs `body`, which changes the length or makes holes, with the lock held, a key, and room in the journal.
    func changingLength(_ body: (FileKey, Scratch) throws(VaultError) -> Void) throws(VaultError) {
        if lock.withShared({ state.isUnproven }) { try prove() }
        // The last block, and those below the durable end behind the new end.
        let blocks = Int(BlockGeometry.blockCount(forLength: Self.largestJournaledTruncation)) + 4
        try withRoom(Journal.roomForFile + Journal.roomForBlocks(blocks)) { (_) throws(VaultError) in
            let key = try currentKey()
            try vault.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
                defer { scratch.wipePlain() }
                try body(key, scratch)
                try keepLength()
            }
            return true
        }
    }

    /// Grows the file to `length` with zeros, or leaves it as long as it was. Needs `lock` exclusively.
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
        try flushTruncation()
        if length - state.length <= Self.largestFill {
            try fill(to: length, key, scratch)
            return
        }
        // The last block becomes a whole one, the hole begins behind it, and behind all that an earlier, longer file
        // has left there.
        if state.writeback.durableBlocks * BlockGeometry.blockSize > length { try checkpointAlone() }
        let blocks = max(BlockGeometry.blockCount(forLength: state.length), state.writeback.durableBlocks)
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

    /// Truncates the file, or leaves it as it was. What lies behind the new end stays where it is until the header says
    /// so durably. Needs `lock` exclusively.
    private func shrink(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let hasTail = length % BlockGeometry.blockSize > 0
        // Read first: if the block is damaged nothing has changed yet.
        if hasTail {
            try prepare(scratch, key, .open)
            try loadBlock(BlockGeometry.block(at: length), slot: 0, scratch)
        }
        noteChange()
        let hasTailWritten = try lowerHeader(to: length, key, scratch)
        // After the header: the block as it was is one of the new length too, with more behind it.
        do throws(VaultError) {
            if hasTail && !hasTailWritten { try putTail(of: length, key, scratch) }
            try truncateBackingFile(isConfirmed: false)
        } catch {
            // The file has been truncated. The next write truncates its backing file.
            state.hasStaleTail = true
            return
        }
        if state.writeback.durableEnd > length, state.writeback.durableEnd - length > Self.largestJournaledTruncation {
            // The file has been truncated. A durable end above the length goes with a later checkpoint.
            try? checkpointAlone()
        }
    }

    /// Has the header say that the file is shorter, all or nothing. Where the last block goes into the journal it does
    /// so with the header, from the scratch's first plain block: true.
    private func lowerHeader(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) -> Bool {
        let isBelowDurableEnd =
            length % BlockGeometry.blockSize > 0 && BlockGeometry.block(at: length) < state.writeback.durableBlocks
        let goesToJournal = isBelowDurableEnd || state.writeback.isJournaled || isStampSpent
        // Before anything counts as shorter: it may flush the file, or put a header in place.
        let isNamed = goesToJournal ? try beginRecords() : true
        let tail = isBelowDurableEnd && isNamed ? try sealTail(of: length, key, scratch) : nil

        let before = (state.length, state.header.length, state.header.firstSparseBlock)
        let stored = (state.writeback.slots, state.writeback.torn, state.writeback.holes)
        state.length = length
        // Whoever flushes at the moment does not know what it confirms any more.
        state.writeback.round += 1
        state.header.length = min(state.header.length, length)
        if length == 0 { state.header.firstSparseBlock = FileHeader.noSparseBlock }
        let blocks = BlockGeometry.blockCount(forLength: length)
        for block in state.writeback.slots.keys where block >= blocks { state.writeback.slots[block] = nil }
        for block in state.writeback.torn.keys where block >= blocks { state.writeback.torn[block] = nil }
        state.writeback.holes.remove(contentsOf: blocks..<UInt64.max)
        do throws(VaultError) {
            if !goesToJournal {
                try writeStampedHeader()
            } else if isNamed {
                try journal(tail.map { [$0] } ?? [], of: scratch)
            }
            return tail != nil
        } catch {
            (state.length, state.header.length, state.header.firstSparseBlock) = before
            (state.writeback.slots, state.writeback.torn, state.writeback.holes) = stored
            throw error
        }
    }

    /// Writes the last block of a file of `length` bytes anew, from the scratch's first plain block.
    func putTail(of length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        guard length % BlockGeometry.blockSize > 0 else { return }
        let (block, range) = try sealTail(of: length, key, scratch)
        try putBlock(unsafe scratch.stored.bytes.extracting(range), as: block)
    }

    /// Encrypts the last block of a file of `length` bytes, from the scratch's first plain block.
    private func sealTail(
        of length: UInt64, _ key: FileKey, _ scratch: Scratch
    ) throws(VaultError) -> (number: UInt64, range: Range<Int>) {
        let tail = Int(length % BlockGeometry.blockSize)
        let block = BlockGeometry.block(at: length)
        try prepare(scratch, key, .seal)
        scratch.drawNonces(1)
        let stored = unsafe scratch.stored(0, count: tail + Int(BlockGeometry.overhead))
        try unsafe seal(UnsafeRawBufferPointer(scratch.plain(0, count: tail)), as: block, into: stored, scratch)
        return (block, 0..<stored.count)
    }

    /// Writes a stored block where it may be written: into the backing file, or the journal.
    func putBlock(_ stored: RawSpan, as block: UInt64) throws(VaultError) {
        if block < state.writeback.durableBlocks { return try journal(stored, asBlock: block) }
        let file = try writable()
        // What stands there may be gone by half when this fails.
        state.writeback.torn[block] = stored.array(0..<stored.byteCount)
        try backing { () throws(Errno) in
            try vault.store.write(stored, to: file, at: Int64(BlockGeometry.backingOffset(ofBlock: block)))
        }
        state.writeback.torn[block] = nil
    }
}

import Crypto
import Format
import Glibc
import Posix
import Store

extension File {
    /// The largest extension that is written as encrypted zeros; a larger one is a hole.
    private static let largestFill: UInt64 = 1 << 20
    private static let zeros = [UInt8](repeating: 0, count: 64 << 10)

    /// A cut of more than this is settled at once: then the new blocks need not go through the journal.
    static let largestGuardedCut: UInt64 = 256 << 10

    /// Sets the length: ftruncate(2).
    public func truncate(to length: UInt64) throws(VaultError) {
        guard length <= FileHeader.largestLength else { throw .system(.EFBIG) }
        try changingLength { (key, scratch) throws(VaultError) in
            try cutResidue(key, scratch)
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
        // The last block, and those that a cut left guarded behind the new end.
        let blocks = Int(BlockGeometry.blockCount(forLength: Self.largestGuardedCut)) + 4
        try withRoom(Journal.roomForFile + Journal.roomForBlocks(blocks)) { (_) throws(VaultError) in
            let key = try currentKey()
            try vault.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
                defer { scratch.wipePlain() }
                try body(key, scratch)
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
        try settleCut()
        if length - state.length <= Self.largestFill {
            try fill(to: length, key, scratch)
            return
        }
        // The last block becomes a whole one, the hole begins behind it, and behind all that an earlier, longer file has
        // left there.
        let blocks = max(BlockGeometry.blockCount(forLength: state.length), state.unsettled.guardedBlocks)
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

    /// Cuts the file. What lies behind the new end stays where it is until the header says so durably. Needs `lock`
    /// exclusively.
    private func shrink(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let tail = Int(length % BlockGeometry.blockSize)
        // Read first: if the block is damaged nothing has changed yet.
        if tail > 0 {
            try prepare(scratch, key, .open)
            try loadBlock(BlockGeometry.block(at: length), slot: 0, scratch)
        }
        noteChange()
        try putTail(of: length, key, scratch)
        state.length = length
        // Whoever flushes at the moment does not know what it confirms any more.
        state.unsettled.round += 1
        state.header.length = min(state.header.length, length)
        if length == 0 { state.header.firstSparseBlock = FileHeader.noSparseBlock }
        let blocks = BlockGeometry.blockCount(forLength: length)
        for block in state.unsettled.slots.keys where block >= blocks { state.unsettled.slots[block] = nil }
        for block in state.unsettled.torn.keys where block >= blocks { state.unsettled.torn[block] = nil }
        state.unsettled.holes.remove(contentsOf: blocks..<UInt64.max)
        try writeHeader()
        try cutBehind(isConfirmed: false)
        if state.unsettled.guarded > length, state.unsettled.guarded - length > Self.largestGuardedCut {
            try settleAlone()
        }
    }

    /// Writes the last block of a file of `length` bytes anew, from the scratch's first plain block.
    func putTail(of length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let tail = Int(length % BlockGeometry.blockSize)
        let block = BlockGeometry.block(at: length)
        guard tail > 0 else { return }
        try prepare(scratch, key, .seal)
        scratch.drawNonces(1)
        let stored = unsafe scratch.stored(0, count: tail + Int(BlockGeometry.overhead))
        try unsafe seal(UnsafeRawBufferPointer(scratch.plain(0, count: tail)), as: block, into: stored, scratch)
        try unsafe putBlock(UnsafeRawBufferPointer(stored).bytes, as: block)
    }

    /// Writes a stored block where it may be written: into the backing file, or the journal.
    func putBlock(_ stored: RawSpan, as block: UInt64) throws(VaultError) {
        if block < state.unsettled.guardedBlocks { return try journal(stored, asBlock: block) }
        let file = try writable()
        try backing { () throws(Errno) in
            try vault.store.write(stored, to: file, at: Int64(BlockGeometry.backingOffset(ofBlock: block)))
        }
        state.unsettled.torn[block] = nil
    }
}

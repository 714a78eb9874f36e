import Crypto
import Format
import Glibc
import Posix
import Store
import Writeback

// fallocate(2) and lseek(2). A hole is made of whole blocks whose stored bytes are all zeros, at or past the header's
// first sparse block: docs/FORMAT.md, "Blocks".

extension File {
    /// Reserves space, so that a write to a range does not fail for want of it. Unless `keepingLength`, it also extends
    /// the file to the range's end: fallocate(2) with mode 0, or with FALLOC_FL_KEEP_SIZE.
    public func allocate(_ range: Range<UInt64>, keepingLength: Bool) throws(VaultError) {
        guard range.upperBound <= FileHeader.largestLength else { throw .system(.EFBIG) }
        try changingLength { (key, scratch) throws(VaultError) in
            let first = BlockGeometry.block(at: range.lowerBound)
            let behind = BlockGeometry.blockCount(forLength: range.upperBound)
            // The checkpoint of a hole gives its space back: it must come before the space is reserved.
            if !state.journal.holes.intersection(RangeSet(first..<behind)).isEmpty {
                try checkpointAlone(CheckpointRequest())
            }
            let file = try writable()
            // Reserved first: the zeros that follow cannot then fail for want of space.
            try backing { () throws(Errno) in
                try vault.store.reserve(
                    file, Self.backingRange(first..<behind, end: BlockGeometry.backingSize(forLength: range.upperBound))
                )
            }
            guard range.upperBound > state.length, !keepingLength else { return }
            try truncateStaleTail(key, scratch)
            try extend(to: range.upperBound, key, scratch)
        }
    }

    /// Zeroes a range as far as the file reaches, and gives the space of the whole blocks in it back: fallocate(2) with
    /// FALLOC_FL_PUNCH_HOLE.
    public func punch(_ range: Range<UInt64>) throws(VaultError) {
        try changingLength { (key, scratch) throws(VaultError) in
            let end = min(range.upperBound, state.length)
            guard range.lowerBound < end else { return }
            try truncateStaleTail(key, scratch)
            let size = BlockGeometry.blockSize
            let first = BlockGeometry.blockCount(forLength: range.lowerBound)
            let behind = end / size
            if first < behind {
                try putZeros(range.lowerBound..<first * size, key, scratch)
                try putZeros(behind * size..<end, key, scratch)
                try makeHole(first..<behind, key)
                if (behind - first) * size > FileState.largestJournaledTruncation {
                    try checkpointAlone(CheckpointRequest())
                }
            } else {
                try putZeros(range.lowerBound..<end, key, scratch)
            }
            noteModification()
        }
    }

    /// Makes whole blocks below the end a hole. Those that a crash must find unharmed become one only when the file is
    /// checkpointed: until then a record in the journal says that they are. Needs `lock` exclusively, and room for a
    /// record and a header.
    private func makeHole(_ blocks: Range<UInt64>, _ key: FileKey) throws(VaultError) {
        let file = try writable()
        noteChange()
        let before = state.header.firstSparseBlock
        state.header.firstSparseBlock = min(before, blocks.lowerBound)
        let durableBlocksEnd = state.firstInPlace(of: blocks.lowerBound...blocks.upperBound - 1)
        let journaled = blocks.lowerBound..<durableBlocksEnd
        let free = durableBlocksEnd..<blocks.upperBound
        if !free.isEmpty {
            try punch(free, of: file, key)
            notePunched(free)
        }
        guard !journaled.isEmpty else { return }
        let isNamed = try beginRecords()
        // Without a name, a crash leaves nothing of the file, once it is durable that the name is gone.
        if !isNamed { try makeRemovalDurable() }
        try backing { () throws(Errno) in
            // Blocks by which the file grew may lie in the journal alone; their checkpoint would have extended the
            // backing file.
            let end = Self.backingRange(journaled).upperBound
            if try vault.store.status(of: descriptor).size < end { try vault.store.truncate(file, to: end) }
        }
        guard isNamed else { return try punch(journaled, of: file, key) }
        try backing { () throws(Errno) in
            let extent = try vault.openJournal().append(
                JournalRecord(
                    .hole, of: identifier, generation: UInt64(journaled.count), number: journaled.lowerBound,
                    payloadCount: 0),
                of: identity, RawSpan())
            state.journal.didAppendHole(journaled, extent.sequence)
            state.times.show(modified: .now)
        }
        state.repair.forget(journaled)
        try journalHeader()
        notePunched(journaled)
    }

    /// Makes a hole in the backing file, of blocks that no crash must find unharmed.
    private func punch(_ blocks: Range<UInt64>, of file: Descriptor, _ key: FileKey) throws(VaultError) {
        do throws(Errno) { try vault.store.punch(file, Self.backingRange(blocks)) } catch {
            try? mendPunched(blocks, key)
            throw .system(error)
        }
        forgetStored(blocks)
    }

    /// Finds the blocks that were zeroed only in part, if there are any. They become zeros as soon as the disk has room
    /// for it.
    private func mendPunched(_ blocks: Range<UInt64>, _ key: FileKey) throws(VaultError) {
        // The store zeroes from front to back, except for the bytes at both edges, which share a page with others.
        var edges = [blocks.upperBound - 1]
        var block = try skipHole(at: blocks.lowerBound)
        while block < blocks.upperBound, try look(at: block, key) == .zeros { block = try skipHole(at: block + 1) }
        if block < blocks.upperBound { edges.append(block) }
        for edge in Set(edges) where try look(at: edge, key) == .damaged {
            state.journal.forgetBlocks(edge..<edge + 1)
            state.repair.keep(
                [UInt8](repeating: 0, count: Int(BlockGeometry.storedBlockSize)), ofBlock: edge)
        }
        try writeTornInPlace()
    }

    /// Forgets the versions of these blocks that lie elsewhere than in the backing file.
    private func forgetStored(_ blocks: Range<UInt64>) {
        state.journal.forgetBlocks(blocks)
        state.repair.forget(blocks)
    }

    /// Makes the holes of the journal's records in the backing file, except for blocks that were written since. Needs
    /// `lock` exclusively.
    func punchHolesInPlace(in file: Descriptor) throws(Errno) {
        var holes = state.journal.holes
        guard !holes.isEmpty else { return }
        for block in state.journal.blocks.keys { holes.remove(contentsOf: block..<block + 1) }
        for blocks in holes.ranges {
            try vault.keepingSetID(of: file) { () throws(Errno) in
                try vault.store.punch(file, Self.backingRange(blocks))
            }
        }
    }

    /// Zeroes the stored bytes of blocks that are holes according to the journal. `buffer` begins with block `first`.
    func coverHoles(_ buffer: UnsafeMutableRawBufferPointer, fromBlock first: UInt64) {
        guard !state.journal.holes.isEmpty else { return }
        let size = Int(BlockGeometry.storedBlockSize)
        let end = first + UInt64((buffer.count + size - 1) / size)
        for blocks in state.journal.holes.intersection(RangeSet(first..<end)).ranges {
            let from = Int(blocks.lowerBound - first) * size
            let to = min(buffer.count, Int(blocks.upperBound - first) * size)
            unsafe explicit_bzero(buffer.baseAddress! + from, to - from)
        }
    }

    /// Where blocks lie in the backing file, up to `end` at most.
    static func backingRange(_ blocks: Range<UInt64>, end: UInt64 = .max) -> Range<Int64> {
        let from = BlockGeometry.backingOffset(ofBlock: blocks.lowerBound)
        return Int64(from)..<Int64(min(BlockGeometry.backingOffset(ofBlock: blocks.upperBound), end))
    }

    // MARK: Where there is data

    /// The first byte at or after `offset` that is data or, with `hole`, in a hole; nil where there is none. The end of
    /// the file counts as a hole. A block is data or a hole as a whole.
    ///
    /// Source: lseek(2), SEEK_DATA and SEEK_HOLE.
    public func next(hole: Bool, from offset: UInt64) throws(VaultError) -> UInt64? {
        try lock.withShared { () throws(VaultError) in
            guard offset < state.length else { return nil }
            let size = BlockGeometry.blockSize
            let end = BlockGeometry.blockCount(forLength: state.length)
            let first = offset / size
            let found = try hole ? nextHole(from: first, end) : nextData(from: first, end)
            guard found < end else { return hole ? state.length : nil }
            return max(offset, found * size)
        }
    }

    private func nextData(from first: UInt64, _ end: UInt64) throws(VaultError) -> UInt64 {
        var block = first
        while block < end, block >= state.header.firstSparseBlock, state.journal.blocks[block] == nil {
            // The backing file does not have this hole yet.
            if let hole = state.journal.holes.ranges.first(where: { $0.contains(block) }) {
                block = min(hole.upperBound, nextSlot(from: block))
                continue
            }
            let offset = BlockGeometry.backingOffset(ofBlock: block)
            let data = try backing { () throws(Errno) in try vault.store.nextData(of: descriptor, from: Int64(offset)) }
            let next = data.map { block + (UInt64($0) - offset) / BlockGeometry.storedBlockSize } ?? end
            if next == block { return block }
            block = min(next, nextSlot(from: block))
        }
        return block
    }

    private func nextHole(from first: UInt64, _ end: UInt64) throws(VaultError) -> UInt64 {
        let size = BlockGeometry.storedBlockSize
        var block = max(first, state.header.firstSparseBlock)
        while block < end {
            if state.journal.blocks[block] != nil {
                block += 1
                continue
            }
            if state.journal.holes.contains(block) { return block }
            let offset = BlockGeometry.backingOffset(ofBlock: block)
            let hole = try backing { () throws(Errno) in try vault.store.nextHole(of: descriptor, from: Int64(offset)) }
            guard let hole, hole < BlockGeometry.backingOffset(ofBlock: end) else {
                return nextPendingHole(from: block, end)
            }
            // The first block that can lie in the hole as a whole.
            let next = block + (UInt64(hole) - offset + size - 1) / size
            if next == block {
                let data = try backing { () throws(Errno) in
                    try vault.store.nextData(of: descriptor, from: Int64(offset))
                }
                if data.map({ UInt64($0) >= offset + size }) ?? true { return block }
                block += 1
            } else {
                block = min(next, nextPendingHole(from: block, end))
            }
        }
        return end
    }

    private func nextSlot(from block: UInt64) -> UInt64 {
        state.journal.blocks.keys.filter { $0 >= block }.min() ?? .max
    }

    private func nextPendingHole(from block: UInt64, _ end: UInt64) -> UInt64 {
        for hole in state.journal.holes.ranges where hole.upperBound > block {
            var candidate = max(block, hole.lowerBound)
            while candidate < hole.upperBound, state.journal.blocks[candidate] != nil { candidate += 1 }
            if candidate < hole.upperBound { return min(candidate, end) }
        }
        return end
    }
}

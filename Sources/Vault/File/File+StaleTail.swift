import Crypto
import Format
import Posix
import Store
import Writeback

// The stale tail of a backing file, and what a crash has left of the blocks before the file's end.

extension File {
    /// Truncates the stale tail of the backing file: once after a crash or a failed write.
    func truncateStaleTail(_ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        guard state.repair.hasStaleTail else { return }
        let size = try backing { () throws(Errno) in try vault.store.status(of: descriptor).size }
        if UInt64(size) > neededBackingSize {
            let tail = Int(state.length % BlockGeometry.blockSize)
            let block = BlockGeometry.block(at: state.length)
            if tail > 0 {
                try prepare(scratch, key, .open)
                // A block as long as the header says need not be written again. A damaged one stays as it is.
                guard let count = try loadUndamaged(block, scratch) else { return }
                if count != tail + Int(BlockGeometry.overhead) {
                    try putTail(of: state.length, key, scratch)
                    if state.journal.hasRecords {
                        try journalHeader()
                        // The stale tail is part of the only durable version of this block, until the new version is
                        // durable.
                        try backing { () throws(Errno) in
                            try vault.openJournal().flush(upTo: state.journal.sequence)
                        }
                    }
                }
            }
            try truncateBackingFile(isConfirmed: true)
        }
        state.repair.didTruncateTail()
    }

    /// Truncates the backing file to the size that is needed.
    ///
    /// - Parameter isConfirmed: a durable header says that the file ends there.
    func truncateBackingFile(isConfirmed: Bool) throws(VaultError) {
        let needed = Int64(neededBackingSize)
        let file = try writable()
        guard try backing({ () throws(Errno) in try vault.store.status(of: descriptor).size > needed }) else { return }
        try keepingChangeTime { (_) throws(VaultError) in
            try backing { () throws(Errno) in
                try keepingBackingTimes { () throws(Errno) in
                    try vault.keepingSetID(of: file) { () throws(Errno) in try vault.store.truncate(file, to: needed) }
                }
            }
        }
        if !isConfirmed { state.durable.didTruncate() }
        guard isConfirmed else { return }
        // Flushed at once: when the file is next opened, nothing tells of this truncation.
        try flush(dataOnly: true)
        state.durable.didFlushTruncation()
    }

    /// Flushes a truncation before the file grows. A sync has acknowledged that the old blocks are gone, but they still
    /// verify: a crash must not find them behind the old end, within the new length. Needs `lock` exclusively.
    func flushTruncation(toReach end: UInt64) throws(VaultError) {
        if state.mustFlushTruncation(toReach: end) { try perform(.flush(all: false)) }
    }

    /// How long the backing file must be for what it holds now and for what a crash must find in it.
    var neededBackingSize: UInt64 {
        BlockGeometry.backingSize(forLength: max(state.length, state.durable.end))
    }

    /// Repairs what a crash left: blocks that no sync confirmed and that did not reach the disk become zeros. `locked`
    /// when the class key is not in memory. `damaged` when confirmed blocks are truncated; the file then stays as it
    /// is.
    func prove() throws(VaultError) {
        try withRoom(Journal.roomForFile + Journal.roomForBlocks(2)) { (_) throws(VaultError) in
            guard state.repair.isUnproven else { return true }
            try requireConfirmed()
            let key = try currentKey()
            try keepingChangeTime { (_) throws(VaultError) in try prove(key) }
            return true
        }
    }

    private func prove(_ key: FileKey) throws(VaultError) {
        try vault.memory.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
            defer { scratch.wipePlain() }
            let shown = try backing { () throws(Errno) in try shownTime() }
            // Readers see the same contents as before, so the time stays too, even if a full disk stops this.
            defer { state.times.show(modified: shown) }
            try truncateStaleTail(key, scratch)
            noteChange()
            let first = BlockGeometry.block(at: state.header.length)
            let end = BlockGeometry.blockCount(forLength: state.length)
            if let missing = try firstOfManyMissing(first..<end) { try declareSparse(from: missing) }
            // Before zeros are appended: the end of the backing file may tell how long the last block is.
            let behind = min(end, try storedBlocks())
            if first < behind { try prove(first..<behind, key, scratch) }
            try extendBehindHole()
            if max(first, behind) < end { try prove(max(first, behind)..<end, key, scratch) }
            // A sync may have acknowledged some of this: the first sync of a file returns before the header that
            // confirms it is on disk.
            state.raiseEnd()
            state.repair.didProve()
            state.times.show(modified: shown)
            if state.journal.hasRecords { try journalHeader() }
        }
    }

    /// Refuses a backing file that is too short for the confirmed length: when it grows, what was truncated becomes
    /// zeros, and a sparse file would show them as a hole.
    private func requireConfirmed() throws(VaultError) {
        let size = try backing { () throws(Errno) in try vault.store.status(of: descriptor).size }
        guard UInt64(size) >= BlockGeometry.backingSize(forLength: state.header.length) else {
            throw .damaged("its backing file is truncated")
        }
    }

    /// The first block in a range that the backing file lacks, if it lacks more blocks than are written as zeros; else
    /// nil. The header's length proves nothing, so the zeros that are written for it are bounded by what is there.
    private func firstOfManyMissing(_ blocks: Range<UInt64>) throws(VaultError) -> UInt64? {
        var first: UInt64?
        var count: UInt64 = 0
        var block = blocks.lowerBound
        let end = min(blocks.upperBound, state.header.firstSparseBlock)
        while block < end {
            let offset = BlockGeometry.backingOffset(ofBlock: block)
            let data = try backing { () throws(Errno) in
                try vault.store.nextData(of: descriptor, from: Int64(offset))
            }
            let next = data.map { block + (UInt64($0) - offset) / BlockGeometry.storedBlockSize } ?? end
            if next > block {
                first = first ?? block
                count += min(next, end) - block
                if count > BlockGeometry.blockCount(forLength: Self.largestFill) { return first }
            }
            guard next < end, let data else { return nil }
            let hole = try backing { () throws(Errno) in try vault.store.nextHole(of: descriptor, from: data) }
            guard let hole, UInt64(hole) < BlockGeometry.backingOffset(ofBlock: end) else {
                // There is no hole before the end of the backing file: the blocks behind that end are missing.
                block = max(next, try storedBlocks())
                if block >= end { return nil }
                continue
            }
            // The first block that lies in the hole as a whole. The search always moves forward.
            let behind = UInt64(hole) - BlockGeometry.backingOffset(ofBlock: 0)
            let size = BlockGeometry.storedBlockSize
            block = max(next + 1, (behind + size - 1) / size)
        }
        return nil
    }

    /// From now on zeros from `block` on are a hole, which needs no space. The header says so before the backing file
    /// grows. Needs `lock` exclusively, and room in the journal.
    private func declareSparse(from block: UInt64) throws(VaultError) {
        try changeHeader { $0.firstSparseBlock = min($0.firstSparseBlock, block) }
    }

    /// Extends the backing file if a crash left it too short for a hole at its end.
    private func extendBehindHole() throws(VaultError) {
        let needed = Int64(BlockGeometry.backingSize(forLength: state.length))
        guard BlockGeometry.blockCount(forLength: state.length) > state.header.firstSparseBlock else { return }
        let file = try writable()
        do throws(Errno) {
            guard try vault.store.status(of: descriptor).size < needed else { return }
            try vault.keepingSetID(of: file) { () throws(Errno) in try vault.store.truncate(file, to: needed) }
        } catch {
            guard error == .EFBIG else { throw .system(error) }
            throw .damaged("its header tells of \(state.length) bytes, which no file in this store can have")
        }
    }

    /// The next block at or after `block` that is not in a hole: a hole may have very many.
    func skipHole(at block: UInt64) throws(VaultError) -> UInt64 {
        guard block >= state.header.firstSparseBlock else { return block }
        let offset = BlockGeometry.backingOffset(ofBlock: block)
        return try backing { () throws(Errno) in
            guard let data = try vault.store.nextData(of: descriptor, from: Int64(offset)) else { return .max }
            return block + (UInt64(data) - offset) / BlockGeometry.storedBlockSize
        }
    }

    /// How many blocks the backing file has; the last one may be partial.
    private func storedBlocks() throws(VaultError) -> UInt64 {
        let size = try backing { () throws(Errno) in try vault.store.status(of: descriptor).size }
        let count = UInt64(size) - min(UInt64(size), BlockGeometry.backingOffset(ofBlock: 0))
        return (count + BlockGeometry.storedBlockSize - 1) / BlockGeometry.storedBlockSize
    }

    private func prove(_ blocks: Range<UInt64>, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        var block = blocks.lowerBound
        while block < blocks.upperBound {
            try prove(block, key, scratch)
            block = try skipHole(at: block + 1)
        }
    }

    private func prove(_ block: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let live = liveCount(ofBlock: block)
        let overhead = Int(BlockGeometry.overhead)
        try prepare(scratch, key, .open)
        // A damaged block is an error for its readers, not a reason to refuse the open.
        guard let count = try loadUndamaged(block, scratch), count < live + overhead else { return }
        try prepare(scratch, key, .seal)
        let number = try drawNonces(1, key, scratch)
        let stored = unsafe scratch.stored(0, count: live + overhead)
        try unsafe seal(UnsafeRawBufferPointer(scratch.plain(0, count: live)), as: block, into: stored, scratch)
        try unsafe putBlock(UnsafeRawBufferPointer(stored).bytes, as: block)
        noteRewritten(block..<block + 1, number)
    }

    /// Like `loadBlock`, but nil for a block that does not verify.
    private func loadUndamaged(_ block: UInt64, _ scratch: Scratch) throws(VaultError) -> Int? {
        do throws(VaultError) { return try loadBlock(block, index: 0, scratch) } catch {
            guard case .damaged = error else { throw error }
            return nil
        }
    }
}

import Crypto
import Format
import Glibc
import Posix
import Store
import Writeback

extension File {
    /// Writes all of `bytes` at `offset`, past the end too. When it throws, each block has its old or its new contents,
    /// and the length says how far a write past the end has come.
    package func write(_ bytes: RawSpan, at offset: UInt64) throws(VaultError) {
        _ = try write(bytes, at: offset, admittedTo: nil)
    }

    /// As above, for a request that has passed the gate of a class. False, with nothing written, if the file is of
    /// another one by now.
    public func write(
        _ bytes: RawSpan, at offset: UInt64, admittedTo admitted: ProtectionClass?
    ) throws(VaultError) -> Bool {
        guard offset <= FileHeader.largestLength - UInt64(bytes.byteCount) else { throw .system(.EFBIG) }
        return try unsafe bytes.withUnsafeBytes { bytes throws(VaultError) in
            try changing(offset, bytes.count, admittedTo: admitted) { (key, scratch) throws(VaultError) in
                try truncateStaleTail(key, scratch)
                if offset > state.length { try extend(to: offset, key, scratch) }
                try unsafe put(bytes, at: offset, key, scratch)
            }
        }
    }

    /// Writes behind the last byte, where that is once the lock is held: O_APPEND.
    public func append(_ bytes: RawSpan) throws(VaultError) {
        try unsafe bytes.withUnsafeBytes { bytes throws(VaultError) in
            _ = try changing(length, bytes.count, admittedTo: nil) { (key, scratch) throws(VaultError) in
                try truncateStaleTail(key, scratch)
                try unsafe put(bytes, at: state.length, key, scratch)
            }
        }
    }

    /// Runs `body` under the exclusive lock, with a key and room in the journal. `body` writes up to `count` bytes from
    /// `offset` on, and what lies between the file's end and `offset`.
    ///
    /// The lock is taken once: the room is reserved by `outline`, and verified under the lock.
    ///
    /// - Parameter admitted: the class that the file must be of; nil for any.
    /// - Returns: false, and `body` was not run, if the file is of another class.
    private func changing(
        _ offset: UInt64, _ count: Int, admittedTo admitted: ProtectionClass?,
        _ body: (FileKey, Scratch) throws(VaultError) -> Void
    ) throws(VaultError) -> Bool {
        if outline.isUnproven { try prove() }
        var isAdmitted = true
        try withRoom(room(offset, count, outline.length, outline.durableEnd)) { (reserved) throws(VaultError) in
            isAdmitted = admitted.map { $0 == state.header.protectionClass } ?? true
            guard isAdmitted else { return true }
            let key = try currentKey()
            guard count > 0 else { return true }
            // The durable end may have risen since the room was computed.
            guard room(offset, count, state.length, state.durable.end) <= reserved else { return false }
            try vault.memory.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
                defer { scratch.wipePlain() }
                try body(key, scratch)
                try keepLength()
            }
            return true
        }
        return isAdmitted
    }

    /// Room in the journal for a write: for the blocks that it touches below the durable end.
    private func room(_ offset: UInt64, _ count: Int, _ length: UInt64, _ durableEnd: UInt64) -> UInt64 {
        let first = BlockGeometry.block(at: min(offset, length))
        let end = BlockGeometry.blockCount(forLength: offset + UInt64(count))
        let blocks = min(end, BlockGeometry.blockCount(forLength: durableEnd))
        return Journal.roomForFile + Journal.roomForBlocks(blocks > first ? Int(blocks - first) + 1 : 0)
    }

    /// Writes `bytes` at `offset`, which is not past the end. Needs `lock` exclusively.
    func put(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, _ key: FileKey, _ scratch: Scratch
    ) throws(VaultError) {
        var done = 0
        while done < bytes.count {
            done += try unsafe putPass(
                UnsafeRawBufferPointer(rebasing: bytes[done...]), at: offset + UInt64(done), key, scratch)
        }
    }

    /// Writes as much as one pass of the scratch holds, with one pwrite.
    private func putPass(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, _ key: FileKey, _ scratch: Scratch
    ) throws(VaultError) -> Int {
        let blockSize = BlockGeometry.blockSize
        let storedSize = Int(BlockGeometry.storedBlockSize)
        let overhead = Int(BlockGeometry.overhead)
        let first = BlockGeometry.block(at: offset)
        let end = min(offset + UInt64(bytes.count), (first + UInt64(Scratch.blocks)) * blockSize)
        let last = BlockGeometry.block(at: end - 1)
        let headCount = Int(offset % blockSize)
        let hasHead = headCount > 0
        // Bytes of the last block behind the new ones.
        let hasTail = end % blockSize != 0 && end < state.length
        let newLength = max(state.length, end)
        let durable = state.durable.blocks

        try flushTruncation(toReach: end)

        // The bytes on disk of the block that grows, even if the write replaces all of them.
        let growing = BlockGeometry.block(at: state.length)
        let grows = end > state.length && growing <= last
        let saved = grows ? growing : first
        let savedCount =
            try unsafe (grows || hasHead || (hasTail && first == last)) && liveCount(ofBlock: saved) > 0
            && saved >= durable ? readStored(scratch.saved, fromBlock: saved) : 0

        // Blocks that keep some of their bytes are read before any block is encrypted: the cipher has one key and one
        // direction at a time.
        if hasHead || hasTail { try prepare(scratch, key, .open) }
        if hasHead || (hasTail && first == last) {
            if saved == first && savedCount > 0 {
                let count = try unsafe openStored(
                    scratch.saved, available: savedCount, block: first,
                    into: scratch.plain(0, count: Int(blockSize)), scratch)
                if count > overhead, try unsafe !olderBlocks(first..<first + 1, in: scratch.saved, scratch).isEmpty {
                    try foundOlder(first)
                }
            } else {
                try loadBlock(first, index: 0, scratch, comparing: true)
            }
        }
        if hasTail && last != first { try loadBlock(last, index: 1, scratch, comparing: true) }

        try prepare(scratch, key, .seal)
        let number = try drawNonces(Int(last - first) + 1, key, scratch)
        var storedCount = 0
        for block in first...last {
            let start = block * blockSize
            let from = max(offset, start)
            let to = min(end, start + blockSize)
            let plainCount = Int(min(blockSize, newLength - start))
            let source = unsafe UnsafeRawBufferPointer(rebasing: bytes[Int(from - offset)..<Int(to - offset)])
            let plain: UnsafeRawBufferPointer
            if source.count == plainCount {
                unsafe plain = source
            } else {
                let mixed = unsafe scratch.plain(block == first ? 0 : 1, count: plainCount)
                unsafe UnsafeMutableRawBufferPointer(rebasing: mixed[Int(from - start)..<Int(to - start)])
                    .copyMemory(from: source)
                unsafe plain = UnsafeRawBufferPointer(mixed)
            }
            let target = unsafe scratch.stored(Int(block - first), count: plainCount + overhead)
            try unsafe seal(plain, as: block, into: target, scratch)
            storedCount = Int(block - first) * storedSize + plainCount + overhead
        }
        noteChange()
        // Blocks below the durable end go into the journal, and last: a failure before that has changed none of them.
        let behind = state.firstInPlace(of: first...last)
        let skipped = Int(behind - first) * storedSize
        if storedCount > skipped {
            try commit(
                Pass(range: skipped..<storedCount, first: behind, saved: saved, savedCount: savedCount), key, scratch)
        }
        let lengthBefore = state.length
        state.length = newLength
        if behind > first {
            let blocks = (0..<Int(behind - first)).map { index in
                (first + UInt64(index), index * storedSize..<min((index + 1) * storedSize, storedCount))
            }
            do throws(VaultError) { try journal(blocks, of: scratch) } catch {
                state.length = lengthBefore
                state.repair.mayHaveTail()
                throw error
            }
        }
        // What was not there before has no older version, and of a block that grows each older one is shorter.
        let before = grows ? lengthBefore / blockSize : BlockGeometry.blockCount(forLength: lengthBefore)
        noteRewritten(first..<max(first, min(last + 1, before)), number)
        return Int(end - offset)
    }

    func prepare(_ scratch: Scratch, _ key: FileKey, _ direction: Direction) throws(VaultError) {
        try authentic("") { () throws(CryptoError) in try scratch.cipher.setKey(key.secret, for: direction) }
    }
}

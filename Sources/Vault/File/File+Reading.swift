import Format
import Glibc
import Posix
import Writeback

extension File {
    /// Reads from `offset` until `buffer` is full or the file ends; returns the number of bytes.
    ///
    /// If a block does not verify, the read fails: `buffer` then has nothing of that block, but may have blocks before
    /// it.
    package func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(VaultError) -> Int {
        lock.lockShared()
        defer { lock.unlockShared() }
        return try readLocked(into: &buffer, at: offset)
    }

    /// As above, for a request that has passed the gate of a class. Nil, with nothing read, if the file is of another
    /// one by now.
    public func read(
        into buffer: inout MutableRawSpan, at offset: UInt64, admittedTo admitted: ProtectionClass
    ) throws(VaultError) -> Int? {
        lock.lockShared()
        defer { lock.unlockShared() }
        guard state.header.protectionClass == admitted else { return nil }
        return try readLocked(into: &buffer, at: offset)
    }

    private func readLocked(into buffer: inout MutableRawSpan, at offset: UInt64) throws(VaultError) -> Int {
        let key = try currentKey()
        guard offset < state.length else { return 0 }
        let count = Int(min(UInt64(buffer.byteCount), state.length - offset))
        guard count > 0 else { return 0 }
        let base = unsafe buffer.withUnsafeMutableBytes { unsafe UnsafeMutableRawBufferPointer(rebasing: $0[..<count]) }
        try vault.memory.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
            var done = 0
            while done < count {
                done += try unsafe readPass(
                    UnsafeMutableRawBufferPointer(rebasing: base[done...]), at: offset + UInt64(done), scratch)
            }
        }
        return count
    }

    /// Reads as much as one pass of the scratch holds: one pread, then block by block straight into the buffer.
    private func readPass(
        _ buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, _ scratch: Scratch
    ) throws(VaultError) -> Int {
        let blockSize = BlockGeometry.blockSize
        let storedSize = Int(BlockGeometry.storedBlockSize)
        let first = BlockGeometry.block(at: offset)
        let last = BlockGeometry.block(at: offset + UInt64(buffer.count) - 1)
        let blocks = Int(min(last - first + 1, UInt64(Scratch.blocks)))
        let available = try unsafe readStored(scratch.stored(0, count: blocks * storedSize), fromBlock: first)
        let end = min(offset + UInt64(buffer.count), (first + UInt64(blocks)) * blockSize)
        let older = try unsafe olderBlocks(
            first..<first + UInt64(blocks), in: scratch.stored(0, count: blocks * storedSize), scratch)
        for index in 0..<blocks {
            let block = first + UInt64(index)
            let start = block * blockSize
            let from = max(offset, start)
            let to = min(end, start + blockSize)
            let source = unsafe scratch.stored(index, count: storedSize)
            let target = unsafe UnsafeMutableRawBufferPointer(
                rebasing: buffer[Int(from - offset)..<Int(to - offset)])
            let left = available - index * storedSize
            let isWhole = from == start && target.count == Int(blockSize)
            let opened = unsafe isWhole ? target : scratch.plain(0, count: Int(blockSize))
            defer { if !isWhole { scratch.wipePlain() } }
            let stored = try unsafe openStored(source, available: left, block: block, into: opened, scratch)
            if older.contains(block), stored > Int(BlockGeometry.overhead) {
                do throws(VaultError) { try foundOlder(block) } catch {
                    unsafe explicit_bzero(opened.baseAddress!, opened.count)
                    throw error
                }
            }
            guard !isWhole else { continue }
            unsafe target.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: opened[Int(from - start)..<Int(to - start)]))
        }
        return Int(end - offset)
    }
}

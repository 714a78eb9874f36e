import Format
import Glibc
import Posix
import Store
import Writeback

// A write that fails half-way, usually on a full disk, leaves a block that is new in part. Such a block does not
// verify, and the bytes that were stored in it would be lost.

extension File {
    /// The stored blocks of a pass that go into the backing file.
    struct Pass {
        /// Where they lie in the scratch.
        let range: Range<Int>
        /// The number of the first block.
        let first: UInt64
        /// The block whose present bytes on disk are also in the scratch, as many as `savedCount`.
        let saved: UInt64
        let savedCount: Int
    }

    /// Puts the pass's stored blocks into the backing file. When that fails, each block that was there has its old or
    /// its new contents. Needs `lock` exclusively.
    func commit(_ pass: Pass, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let file = try writable()
        do {
            try reserveHoles(of: pass, in: file)
            try unsafe vault.store.write(
                scratch.stored.bytes.extracting(pass.range), to: file,
                at: Int64(BlockGeometry.backingOffset(ofBlock: pass.first)))
            state.repair.forget(pass.first..<pass.first + Self.blockCount(ofStored: pass.range.count))
        } catch {
            if pass.savedCount > 0 { putBack(pass, scratch, in: file) }
            // The end of the backing file may tell how long its last block is: what the failed write left there would
            // make the old bytes a block of another length.
            state.repair.mayHaveTail()
            let size = Int64(neededBackingSize)
            if let status = try? vault.store.status(of: descriptor), status.size > size {
                try? vault.store.truncate(file, to: size)
            }
            try? mendTorn(pass, key, scratch)
            throw .system(error)
        }
    }

    private func putBack(_ pass: Pass, _ scratch: Scratch, in file: Descriptor) {
        let saved = unsafe scratch.saved.bytes.extracting(0..<pass.savedCount)
        do {
            try vault.store.write(saved, to: file, at: Int64(BlockGeometry.backingOffset(ofBlock: pass.saved)))
        } catch {
            state.repair.keep(unsafe Array(scratch.saved[..<pass.savedCount]), ofBlock: pass.saved)
        }
    }

    /// Reserves space in holes, so that a full disk does not stop a write in the middle of a block: what is left would
    /// no longer read as zeros.
    private func reserveHoles(of pass: Pass, in file: Descriptor) throws(Errno) {
        let end = BlockGeometry.blockCount(forLength: state.length)
        let first = max(pass.first, state.header.firstSparseBlock)
        let behind = min(end, pass.first + Self.blockCount(ofStored: pass.range.count))
        guard first < behind else { return }
        let offset = BlockGeometry.backingOffset(ofBlock: first)
        do throws(Errno) {
            try vault.store.allocate(
                file, mode: FALLOC_FL_KEEP_SIZE, offset: Int64(offset),
                length: Int64(BlockGeometry.backingOffset(ofBlock: behind) - offset))
        } catch {
            guard error == .EOPNOTSUPP || error == .ENOSYS else { throw error }
        }
    }

    /// Finds the block that was written only in part, if there is one, and keeps it until the disk has room for it.
    private func mendTorn(_ pass: Pass, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let size = Int(BlockGeometry.storedBlockSize)
        let end = BlockGeometry.blockCount(forLength: state.length)
        for start in stride(from: pass.range.lowerBound, to: pass.range.upperBound, by: size) {
            let block = pass.first + UInt64((start - pass.range.lowerBound) / size)
            guard block < end else { return }
            guard try look(at: block, key) == .damaged else { continue }
            state.repair.keep(
                unsafe Array(scratch.stored[start..<min(start + size, pass.range.upperBound)]), ofBlock: block)
            return try writeTornInPlace()
        }
    }

    /// Writes a stored block whose write(2) was answered earlier, and keeps the file's set-ID bits.
    func writeInPlace(_ stored: RawSpan, asBlock block: UInt64, in file: Descriptor) throws(Errno) {
        try vault.keepingSetID(of: file) { () throws(Errno) in
            try vault.store.write(stored, to: file, at: Int64(BlockGeometry.backingOffset(ofBlock: block)))
        }
    }

    enum BlockState { case zeros, data, damaged }

    /// What a block reads as.
    func look(at block: UInt64, _ key: FileKey) throws(VaultError) -> BlockState {
        try vault.memory.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
            defer { scratch.wipePlain() }
            do throws(VaultError) {
                try loadBlock(block, index: 0, scratch)
                let count = Int(BlockGeometry.blockSize)
                return unsafe scratch.plain(0, count: count).bytes.isZero(0..<count) ? .zeros : .data
            } catch {
                guard case .damaged = error else { throw error }
                return .damaged
            }
        }
    }

    /// How many blocks lie in so many stored bytes; the last one may be partial.
    private static func blockCount(ofStored count: Int) -> UInt64 {
        (UInt64(count) + BlockGeometry.storedBlockSize - 1) / BlockGeometry.storedBlockSize
    }

    /// Writes the blocks that a full disk has refused, before anything is confirmed. Needs `lock` exclusively.
    func writeTornInPlace() throws(VaultError) {
        guard !state.repair.torn.isEmpty else { return }
        let file = try writable()
        for (block, bytes) in state.repair.torn {
            try backing { () throws(Errno) in try writeInPlace(unsafe bytes.span.bytes, asBlock: block, in: file) }
            state.repair.didWrite(block)
        }
    }
}

import Crypto
import Format
import Glibc
import Posix
import Store

extension File {
    /// The largest extension that is written as encrypted zeros; a larger one is a hole.
    private static let largestFill: UInt64 = 1 << 20
    private static let zeros = [UInt8](repeating: 0, count: 64 << 10)

    /// Sets the length: ftruncate(2).
    public func truncate(to length: UInt64) throws(VaultError) {
        guard length <= FileHeader.largestLength else { throw .system(.EFBIG) }
        try lock.withExclusive { () throws(VaultError) in
            let key = try currentKey()
            try vault.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
                defer { scratch.wipePlain() }
                try cutResidue(key, scratch)
                if length > state.length {
                    try extend(to: length, key, scratch)
                } else if length < state.length {
                    try shrink(to: length, key, scratch)
                }
                // A change of length shows as a change of contents, also when it is a hole that grew.
                try backing { () throws(Errno) in
                    try vault.store.setTimes(accessed: .keep, modified: .now, of: descriptor)
                }
            }
        }
    }

    /// Makes sure that the file is at least `length` bytes long: fallocate(2) with mode 0, whose space is then
    /// reserved.
    public func allocate(upTo length: UInt64) throws(VaultError) {
        guard length <= FileHeader.largestLength else { throw .system(.EFBIG) }
        try lock.withExclusive { () throws(VaultError) in
            let key = try currentKey()
            guard length > state.length else { return }
            // Space first: the zeros that follow cannot then fail for want of it.
            let size = BlockGeometry.backingSize(forLength: length)
            let file = try writable()
            try backing { () throws(Errno) in
                try vault.store.allocate(
                    file, mode: FALLOC_FL_KEEP_SIZE, offset: 0, length: Int64(size))
            }
            try vault.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
                defer { scratch.wipePlain() }
                try cutResidue(key, scratch)
                try extend(to: length, key, scratch)
            }
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
        if length - state.length <= Self.largestFill {
            try fill(to: length, key, scratch)
            return
        }
        // The last block becomes a whole one, the hole begins behind it.
        let border = BlockGeometry.blockCount(forLength: state.length) * BlockGeometry.blockSize
        try fill(to: border, key, scratch)
        let firstHole = BlockGeometry.block(at: border)
        if firstHole < state.header.firstSparseBlock {
            // Before the hole is there: without this its zeros would be damage.
            try changeHeader { $0.firstSparseBlock = firstHole }
        }
        let file = try writable()
        try backing { () throws(Errno) in
            try vault.store.truncate(file, to: Int64(BlockGeometry.backingSize(forLength: length)))
        }
        state.length = length
    }

    private func fill(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        while state.length < length {
            let count = Int(min(length - state.length, UInt64(Self.zeros.count)))
            let zeros = Self.zeros
            try unsafe zeros.span.bytes.withUnsafeBytes { (zeros) throws(VaultError) in
                try unsafe put(UnsafeRawBufferPointer(rebasing: zeros[..<count]), at: state.length, key, scratch)
            }
        }
    }

    /// Cuts the file: the header says so before a block is lost. Needs `lock` exclusively.
    private func shrink(to length: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let tail = Int(length % BlockGeometry.blockSize)
        let block = BlockGeometry.block(at: length)
        if tail > 0 {
            // Read first: if the block is damaged nothing has changed yet.
            try prepare(scratch, key, .open)
            _ = try loadBlock(block, live: tail, slot: 0, scratch)
        }
        try changeHeader { header in
            header.length = min(header.length, length)
            // A later hole may begin earlier than the old one did.
            if length == 0 { header.firstSparseBlock = FileHeader.noSparseBlock }
        }
        state.length = length
        state.hasResidue = true
        try cut(tail: tail, block: block, key, scratch)
    }

    /// Cuts off what lies behind the length in the backing file, once after a crash or a failed write.
    func cutResidue(_ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        guard state.hasResidue else { return }
        let size = try backing { () throws(Errno) in try vault.store.status(of: descriptor).size }
        guard UInt64(size) > BlockGeometry.backingSize(forLength: state.length) else {
            state.hasResidue = false
            return
        }
        let tail = Int(state.length % BlockGeometry.blockSize)
        let block = BlockGeometry.block(at: state.length)
        if tail > 0 {
            try prepare(scratch, key, .open)
            _ = try loadBlock(block, live: tail, slot: 0, scratch)
        }
        try cut(tail: tail, block: block, key, scratch)
    }

    /// Writes the last block anew, `tail` bytes of it, from the scratch's first plain block, and cuts the file behind
    /// it.
    private func cut(tail: Int, block: UInt64, _ key: FileKey, _ scratch: Scratch) throws(VaultError) {
        let file = try writable()
        if tail > 0 {
            try prepare(scratch, key, .seal)
            scratch.drawNonces(1)
            let stored = unsafe scratch.stored(0, count: tail + Int(BlockGeometry.overhead))
            try unsafe seal(UnsafeRawBufferPointer(scratch.plain(0, count: tail)), as: block, into: stored, scratch)
            try backing { () throws(Errno) in
                try unsafe vault.store.write(
                    UnsafeRawBufferPointer(stored).bytes, to: file,
                    at: Int64(BlockGeometry.backingOffset(ofBlock: block)))
            }
        }
        try backing { () throws(Errno) in
            try vault.store.truncate(file, to: Int64(BlockGeometry.backingSize(forLength: state.length)))
        }
        state.hasResidue = false
    }
}

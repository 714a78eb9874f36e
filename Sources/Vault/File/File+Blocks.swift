import Crypto
import Format
import Glibc
import Posix
import Writeback

// One block at a time: docs/FORMAT.md, "Blocks". The pointers are slices of a `Scratch` or of the caller's buffer, as
// long as the block is; no function keeps one.

extension File {
    private static var blockSize: Int { Int(BlockGeometry.blockSize) }
    private static var overhead: Int { Int(BlockGeometry.overhead) }
    private static var nonceSize: Int { BlockGeometry.nonceSize }

    /// Encrypts `plain` as block `block` into `stored`, which is 32 bytes longer and begins with a fresh nonce.
    func seal(
        _ plain: UnsafeRawBufferPointer, as block: UInt64, into stored: UnsafeMutableRawBufferPointer,
        _ scratch: Scratch
    ) throws(VaultError) {
        do {
            var sealed = unsafe MutableRawSpan(_unsafeBytes: stored[Self.nonceSize...].rebased)
            try withAssociatedData(block) { (data) throws(CryptoError) in
                try scratch.cipher.seal(
                    unsafe plain.bytes, nonce: unsafe UnsafeRawBufferPointer(stored[..<Self.nonceSize].rebased).bytes,
                    associatedData: data, into: &sealed)
            }
        } catch { throw VaultError(error, damaged: "") }
    }

    /// Decrypts block `block` from `stored` into `plain`, which is 32 bytes shorter. A block of a hole reads as zeros.
    func open(
        _ stored: UnsafeRawBufferPointer, block: UInt64, into plain: UnsafeMutableRawBufferPointer, _ scratch: Scratch
    ) throws(VaultError) {
        if block >= state.header.firstSparseBlock, unsafe stored.bytes.isZero(0..<stored.count) {
            unsafe plain.initializeMemory(as: UInt8.self, repeating: 0)
            return
        }
        do {
            var opened = unsafe MutableRawSpan(_unsafeBytes: plain)
            try withAssociatedData(block) { (data) throws(CryptoError) in
                try scratch.cipher.open(
                    unsafe stored[Self.nonceSize...].rebased.bytes,
                    nonce: unsafe stored[..<Self.nonceSize].rebased.bytes, associatedData: data, into: &opened)
            }
        } catch { throw VaultError(error, damaged: "block \(block) does not verify") }
    }

    private func withAssociatedData<Result>(
        _ block: UInt64, _ body: (RawSpan) throws(CryptoError) -> Result
    ) throws(CryptoError) -> Result {
        var data: InlineArray<40, UInt8> = .init(repeating: 0)
        do {
            var elements = data.mutableSpan
            var span = unsafe elements.mutableBytes
            BlockGeometry.storeAssociatedData(volume: vault.keys.volume, file: identifier, block: block, into: &span)
        }
        return try body(unsafe data.span.bytes)
    }

    /// Reads stored blocks into `buffer`, which has room for whole ones, from wherever they lie: the backing file, the
    /// journal or, if torn, memory. Returns how many bytes the backing file has, or will have once the journal's blocks
    /// are in it.
    package func readStored(_ buffer: UnsafeMutableRawBufferPointer, fromBlock block: UInt64) throws(VaultError) -> Int
    {
        let offset = BlockGeometry.backingOffset(ofBlock: block)
        var count: Int
        do {
            var span = unsafe MutableRawSpan(_unsafeBytes: buffer)
            count = try vault.store.read(descriptor, into: &span, at: Int64(offset))
        } catch { throw .system(error) }
        if count < buffer.count, state.journal.pendingSize > offset + UInt64(count) {
            let end = Int(min(UInt64(buffer.count), state.journal.pendingSize - offset))
            unsafe explicit_bzero(buffer.baseAddress! + count, end - count)
            count = end
        }
        unsafe coverHoles(buffer, fromBlock: block)
        let size = Int(BlockGeometry.storedBlockSize)
        for (number, bytes) in state.repair.torn where number >= block {
            guard let index = Int(exactly: number - block), index < buffer.count / size else { continue }
            unsafe buffer[(index * size)...].copyBytes(from: bytes)
        }
        guard !state.journal.blocks.isEmpty else { return count }
        for index in 0..<(buffer.count / size) {
            guard let extent = state.journal.blocks[block + UInt64(index)] else { continue }
            do {
                var span = unsafe MutableRawSpan(
                    _unsafeBytes: buffer[(index * size)..<(index * size + extent.count)].rebased)
                try vault.openJournal().read(extent, into: &span)
            } catch { throw .system(error) }
        }
        return count
    }

    /// How many bytes block `block` is stored in, if it does not lie in the backing file; else nil. In a read-only
    /// vault all blocks count as if they lay there, as replay would put them.
    private func elsewhere(_ block: UInt64) -> Int? {
        guard !vault.isReadOnly else { return nil }
        return state.journal.blocks[block]?.count ?? state.repair.torn[block]?.count
    }

    /// How many bytes block `block` is stored in, if the backing file has `available` bytes from its beginning on.
    func storedCount(ofBlock block: UInt64, available: Int) -> Int {
        if let count = elsewhere(block) { return count }
        let most = Int(BlockGeometry.storedBlockSize)
        let placed = state.durable.placed.length
        // A last block that has grown may lie in place with its old length until its checkpoint, while the block behind
        // it is in place already: the length in the header that is in place tells where the old one ends.
        guard block < state.durable.placedBlocks else { return max(0, min(most, available)) }
        return min(most, Int(placed - block * BlockGeometry.blockSize) + Self.overhead, max(0, available))
    }

    /// Decrypts block `block` from `stored` into `plain`; both have room for a whole block. Bytes of `plain` past the
    /// block's own become zeros.
    ///
    /// - Parameter available: how many bytes the backing file has from the block's beginning on.
    /// - Returns: how many bytes of `stored` the block takes.
    package func openStored(
        _ stored: UnsafeMutableRawBufferPointer, available: Int, block: UInt64,
        into plain: UnsafeMutableRawBufferPointer, _ scratch: Scratch
    ) throws(VaultError) -> Int {
        var count = storedCount(ofBlock: block, available: available)
        let live = liveCount(ofBlock: block)
        do throws(VaultError) {
            let confirmed = state.repair.isUnproven ? confirmedCount(ofBlock: block) : live
            // A copy of the vault may have read the header before the last block grew, and the block after that.
            let longer = elsewhere(block) == nil ? min(Int(BlockGeometry.storedBlockSize), available) : 0
            if count < confirmed + Self.overhead { count = max(count, longer) }
            guard count >= confirmed + Self.overhead, count > Self.overhead else {
                throw .damaged("block \(block) is truncated")
            }
            do throws(VaultError) {
                try unsafe open(stored, count, block: block, into: plain, scratch)
            } catch {
                // The last block may have grown while the confirmed length did not, and the stale tail of an earlier,
                // longer file may lie behind it.
                let provisional = min(live + Self.overhead, longer)
                let others = [provisional, longer].filter { $0 != count && $0 >= confirmed + Self.overhead }
                guard let other = try unsafe openFirst(others, of: stored, block: block, into: plain, scratch) else {
                    throw error
                }
                count = other
            }
        } catch {
            guard state.repair.isUnproven, confirmedCount(ofBlock: block) == 0, case .damaged = error else {
                throw error
            }
            // The block was not written to its end and was never confirmed: it reads as zeros.
            unsafe explicit_bzero(plain.baseAddress!, plain.count)
            return Self.overhead
        }
        let known = min(count - Self.overhead, live)
        unsafe explicit_bzero(plain.baseAddress! + known, plain.count - known)
        return count
    }

    /// Decrypts the first `count` bytes of `stored`.
    private func open(
        _ stored: UnsafeMutableRawBufferPointer, _ count: Int, block: UInt64,
        into plain: UnsafeMutableRawBufferPointer, _ scratch: Scratch
    ) throws(VaultError) {
        try unsafe open(
            UnsafeRawBufferPointer(rebasing: stored[..<count]), block: block,
            into: plain[..<(count - Self.overhead)].rebased, scratch)
    }

    /// The first of `counts` whose bytes verify; nil if none do.
    private func openFirst(
        _ counts: [Int], of stored: UnsafeMutableRawBufferPointer, block: UInt64,
        into plain: UnsafeMutableRawBufferPointer, _ scratch: Scratch
    ) throws(VaultError) -> Int? {
        for count in counts where count > Self.overhead {
            do throws(VaultError) {
                try unsafe open(stored, count, block: block, into: plain, scratch)
                return count
            } catch {
                guard case .damaged = error else { throw error }
            }
        }
        return nil
    }

    /// How many bytes of block `block` lie below the live length.
    func liveCount(ofBlock block: UInt64) -> Int { Self.count(ofBlock: block, below: state.length) }

    /// How many bytes of block `block` lie below the confirmed length.
    private func confirmedCount(ofBlock block: UInt64) -> Int { Self.count(ofBlock: block, below: state.header.length) }

    private static func count(ofBlock block: UInt64, below length: UInt64) -> Int {
        let start = block * BlockGeometry.blockSize
        return length <= start ? 0 : Int(min(BlockGeometry.blockSize, length - start))
    }

    /// Reads one block's plaintext into the scratch's plain block `slot`; bytes past its live ones become zeros.
    ///
    /// The stored bytes, as many as it returns, are then in the scratch's first stored block.
    ///
    /// - Parameter comparing: a program wants to keep a part of it, so it is compared with what this machine remembers.
    @discardableResult
    func loadBlock(
        _ block: UInt64, index: Int, _ scratch: Scratch, comparing: Bool = false
    ) throws(VaultError) -> Int {
        let stored = unsafe scratch.stored(0, count: Self.blockSize + Self.overhead)
        let available = try unsafe readStored(stored, fromBlock: block)
        let count = try unsafe openStored(
            stored, available: available, block: block, into: scratch.plain(index, count: Self.blockSize), scratch)
        if comparing, count > Self.overhead, try unsafe !olderBlocks(block..<block + 1, in: stored, scratch).isEmpty {
            try foundOlder(block)
        }
        return count
    }
}

extension Slice<UnsafeMutableRawBufferPointer> {
    package var rebased: UnsafeMutableRawBufferPointer { unsafe UnsafeMutableRawBufferPointer(rebasing: self) }
}

extension Slice<UnsafeRawBufferPointer> {
    var rebased: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: self) }
}

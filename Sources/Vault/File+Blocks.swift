import Crypto
import Format
import Glibc
import Posix

// One block at a time: docs/FORMAT.md, "Blocks". The pointers are slices of a `Scratch` or of the caller's buffer, of
// the sizes that the block has; they do not outlive the call.

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

    /// Reads stored blocks from disk into `buffer`; returns how many bytes there were.
    func readStored(_ buffer: UnsafeMutableRawBufferPointer, fromBlock block: UInt64) throws(VaultError) -> Int {
        do {
            var span = unsafe MutableRawSpan(_unsafeBytes: buffer)
            return try vault.store.read(descriptor, into: &span, at: Int64(BlockGeometry.backingOffset(ofBlock: block)))
        } catch { throw .system(error) }
    }

    /// How many bytes of block `block` lie below the live length.
    func liveCount(ofBlock block: UInt64) -> Int {
        let start = block * BlockGeometry.blockSize
        return state.length <= start ? 0 : Int(min(BlockGeometry.blockSize, state.length - start))
    }

    /// Reads one block's plaintext, `live` bytes of it, into the scratch's plain block `slot`; the rest of that is
    /// zeros.
    ///
    /// Leaves the stored bytes, as many as returned, in the scratch's first stored block.
    func loadBlock(_ block: UInt64, live: Int, slot: Int, _ scratch: Scratch) throws(VaultError) -> Int {
        let count = try unsafe readStored(
            scratch.stored(0, count: Self.blockSize + Self.overhead), fromBlock: block)
        guard count >= live + Self.overhead else { throw .damaged("block \(block) is cut off") }
        let plain = unsafe scratch.plain(slot, count: Self.blockSize)
        try unsafe open(
            UnsafeRawBufferPointer(scratch.stored(0, count: count)), block: block,
            into: scratch.plain(slot, count: count - Self.overhead), scratch)
        // What lies behind the live bytes is residue.
        unsafe explicit_bzero(plain.baseAddress! + live, Self.blockSize - live)
        return count
    }
}

extension Slice<UnsafeMutableRawBufferPointer> {
    var rebased: UnsafeMutableRawBufferPointer { unsafe UnsafeMutableRawBufferPointer(rebasing: self) }
}

extension Slice<UnsafeRawBufferPointer> {
    var rebased: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: self) }
}

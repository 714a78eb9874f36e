import Crypto
import Format
import Glibc
import Keybag
import Posix
import Synchronization

/// What one request needs to encrypt or decrypt: a cipher, and memory for blocks as they lie on disk.
///
/// Used by one thread at a time. The memory for plaintext is kept out of core files and, where permitted, out of swap;
/// the function that fills it wipes it.
@safe
package final class Scratch: @unchecked Sendable {  // unchecked: the pool hands it to one thread at a time
    /// Blocks in one pass: 1 MiB and a partial block at either end.
    package static let blocks = 258
    private static let storedSize = Int(BlockGeometry.storedBlockSize)
    private static let plainSize = Int(BlockGeometry.blockSize)

    /// `blocks` stored blocks, one behind the other.
    package let stored: UnsafeMutableRawBufferPointer
    /// Two blocks of plaintext, for those at either end that a request covers in part.
    let plain: UnsafeMutableRawBufferPointer
    private let isLocked: Bool
    /// One stored block as it was, to be put back when a write fails half-way.
    let saved: UnsafeMutableRawBufferPointer
    /// Nonces for the blocks of a pass, drawn with one call.
    private let nonces: UnsafeMutableRawBufferPointer
    package var cipher: BlockCipher
    /// Made when it is first needed: the heap for keys is small.
    private var nonceCipher: NonceCipher?
    private var hash: PolynomialHash?
    /// Of the runs of a pass: at most one for each block.
    private var hashes: Secret

    package init() throws(CryptoError) {
        cipher = try BlockCipher()
        hashes = try Secret(count: Self.blocks * PolynomialHash.byteCount)
        let page = 4096
        unsafe stored = .allocate(byteCount: Self.blocks * Self.storedSize, alignment: page)
        unsafe plain = .allocate(byteCount: 2 * Self.plainSize, alignment: page)
        unsafe saved = .allocate(byteCount: Self.storedSize, alignment: page)
        unsafe nonces = .allocate(byteCount: Self.blocks * BlockGeometry.nonceSize, alignment: page)
        isLocked = unsafe ContentsMemory.protect(plain)
    }

    deinit {
        unsafe stored.deallocate()
        unsafe ContentsMemory.release(plain, wasLocked: isLocked)
        unsafe plain.deallocate()
        unsafe saved.deallocate()
        unsafe nonces.deallocate()
    }

    /// The stored bytes of the `index`-th block of the pass, as many as `count`.
    package func stored(_ index: Int, count: Int) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(
            rebasing: stored[index * Self.storedSize..<index * Self.storedSize + count])
    }

    /// One of the two plaintext blocks.
    package func plain(_ index: Int, count: Int) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(
            rebasing: plain[index * Self.plainSize..<index * Self.plainSize + count])
    }

    /// Puts a fresh nonce before each of the first `count` stored blocks.
    func drawNonces(_ count: Int) { drawNonces(count) { Random.fill(&$0) } }

    /// The same, with numbers in the nonces.
    ///
    /// - Parameters:
    ///   - first: the first block's number; the others follow it, up to the highest one.
    ///   - key: the file's, for nonces.
    func drawNonces(_ count: Int, numberedFrom first: UInt64, _ key: borrowing Secret) throws(CryptoError) {
        try drawNonces(count) { (nonces) throws(CryptoError) in
            Random.fill(&nonces)
            for index in 0..<count {
                BlockNumber.store(min(first + UInt64(index), BlockNumber.highest), inNonce: index, of: &nonces)
            }
            try apply(.seal, key, to: &nonces)
        }
    }

    private func apply(
        _ direction: Direction, _ key: borrowing Secret, to nonces: inout MutableRawSpan
    ) throws(CryptoError) {
        if nonceCipher == nil { nonceCipher = try NonceCipher() }
        try nonceCipher!.setKey(key, for: direction)
        defer { nonceCipher!.clear() }
        try nonceCipher!.apply(to: &nonces)
    }

    private func drawNonces<Failure: Error>(
        _ count: Int, _ fill: (inout MutableRawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        let size = BlockGeometry.nonceSize
        var fresh = unsafe MutableRawSpan(_unsafeBytes: nonces[..<(count * size)].rebased)
        try fill(&fresh)
        for index in 0..<count {
            let source = unsafe UnsafeRawBufferPointer(nonces[index * size..<(index + 1) * size].rebased)
            unsafe stored(index, count: size).copyMemory(from: source)
        }
    }

    /// The numbers in the nonces of stored blocks, one behind the other; nil where there are zeros, or nothing.
    ///
    /// - Parameter key: the file's, for nonces.
    func numbers(
        of count: Int, in stored: UnsafeMutableRawBufferPointer, _ key: borrowing Secret
    ) throws(CryptoError) -> [UInt64?] {
        let size = BlockGeometry.nonceSize
        let count = min(count, (stored.count + Self.storedSize - size) / Self.storedSize)
        var isThere = [Bool](repeating: false, count: count)
        for index in 0..<count {
            let nonce = unsafe UnsafeRawBufferPointer(
                stored[index * Self.storedSize..<index * Self.storedSize + size].rebased)
            isThere[index] = unsafe !nonce.bytes.isZero(0..<size)
            unsafe nonces[index * size..<(index + 1) * size].rebased.copyMemory(from: nonce)
        }
        var span = unsafe MutableRawSpan(_unsafeBytes: nonces[..<(count * size)].rebased)
        try apply(.open, key, to: &span)
        return (0..<count).map { index in
            isThere[index] ? BlockNumber.inNonce(index, of: span.bytes) : nil
        }
    }

    /// Makes the hash of stored blocks for the journal, the `index`-th of the pass.
    func hash(_ blocks: RawSpan, as index: Int, _ keys: VolumeKeys) throws(CryptoError) {
        if hash == nil { hash = try PolynomialHash(key: keys.journalBlocks) }
        let range = Self.range(ofHash: index)
        try hashes.withMutableBytes { (bytes) throws(CryptoError) in
            var bytes = bytes._mutatingExtracting(range)
            try hash!.hash(blocks, into: &bytes)
        }
    }

    /// Lends the `index`-th hash of the pass.
    func withHash<Result>(_ index: Int, _ body: (RawSpan) -> Result) -> Result {
        hashes.withBytes { body($0.extracting(Self.range(ofHash: index))) }
    }

    private static func range(ofHash index: Int) -> Range<Int> {
        index * PolynomialHash.byteCount..<(index + 1) * PolynomialHash.byteCount
    }

    package func wipePlain() {
        unsafe explicit_bzero(plain.baseAddress!, plain.count)
    }
}

/// Scratches that no request uses at the moment.
final class ScratchPool: Sendable {
    /// Lock order: docs/ARCHITECTURE.md.
    private let idle = Mutex<[Scratch]>([])

    /// Lends a scratch whose cipher is keyed with `key`; the expanded key is wiped before this returns.
    func withScratch<Result>(
        _ key: FileKey, for direction: Direction, _ body: (Scratch) throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        try withIdleScratch { (scratch) throws(VaultError) in
            defer { scratch.cipher.clear() }
            try authentic("") { () throws(CryptoError) in try scratch.cipher.setKey(key.secret, for: direction) }
            return try body(scratch)
        }
    }

    /// Lends a scratch without a key: memory for blocks.
    func withIdleScratch<Result>(_ body: (Scratch) throws(VaultError) -> Result) throws(VaultError) -> Result {
        let scratch = try authentic("") { () throws(CryptoError) in
            if let used = idle.withLock({ $0.popLast() }) { used } else { try Scratch() }
        }
        defer { idle.withLock { $0.append(scratch) } }
        return try body(scratch)
    }
}

/// A file's key while it is in memory; it is wiped when the last reference is dropped.
package final class FileKey: Sendable {
    package let secret: Secret
    private let keys: KeyCount
    /// For the numbers in nonces; derived when it is first needed.
    private let nonceKey = AtomicLazyReference<NonceKey>()

    private final class NonceKey: Sendable {
        let secret: Secret
        init(_ secret: consuming Secret) { self.secret = secret }
    }

    init(_ secret: consuming Secret, countedBy keys: KeyCount) {
        self.secret = secret
        self.keys = keys
        keys.count.add(1, ordering: .relaxed)
    }

    deinit { keys.count.subtract(1, ordering: .relaxed) }

    /// Lends the key for the numbers in the nonces of the file's blocks. docs/FORMAT.md, "Numbered blocks".
    func withNonceKey<Result>(
        of file: FileIdentifier, in volume: VolumeIdentifier, _ body: (borrowing Secret) throws(CryptoError) -> Result
    ) throws(CryptoError) -> Result {
        if let known = nonceKey.load() { return try body(known.secret) }
        let derived = try KeyDerivation.hkdf(
            secret, salt: volume.bytes, info: Array(BlockNumber.label.utf8) + file.bytes, count: 32)
        return try body(nonceKey.storeIfNil(NonceKey(derived)).secret)
    }
}

/// How many file keys of a vault are in memory. Reading the number takes no lock of a file.
final class KeyCount: Sendable {
    let count = Atomic(0)
}

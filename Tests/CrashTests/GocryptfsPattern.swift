import Crypto
import Glibc
import Posix
import Store

@testable import CrashSimulator

/// Writes to its store as gocryptfs 2 does: blocks of 4 KiB under AES-GCM, overwritten in place, and a directory's IV
/// in a file that is never synced. Names stay plain: they do not matter here.
///
/// Source: gocryptfs, internal/fusefrontend/file.go and internal/nametransform/diriv.go.
final class GocryptfsPattern {
    static let identifierFile: Name = "gocryptfs.diriv"
    private static let blockSize = 4096
    private static let storedSize = 4128
    private static let headerSize = 18

    private let key: Secret
    private var cipher: BlockCipher

    init() throws {
        key = try Secret(random: 32)
        cipher = try BlockCipher()
    }

    func makeDirectory(_ name: Name, in store: any Store) throws {
        try store.makeDirectory(name, in: store.root, mode: 0o700)
        let directory = try store.open(name, in: store.root, O_RDONLY | O_DIRECTORY)
        let file = try store.open(Self.identifierFile, in: directory, O_WRONLY | O_CREAT | O_EXCL, mode: 0o400)
        try unsafe store.write(Random.bytes(16).span.bytes, to: file, at: 0)
    }

    /// Whether the names in the directory can be decrypted.
    func opensDirectory(_ name: Name, in store: any Store) throws -> Bool {
        let directory = try store.open(name, in: store.root, O_RDONLY | O_DIRECTORY)
        guard let file = try? store.open(Self.identifierFile, in: directory, O_RDONLY) else { return false }
        let identifier = try store.bytes(of: file, count: 17, at: 0)
        return identifier.count == 16 && !identifier.allSatisfy { $0 == 0 }
    }

    func write(_ bytes: [UInt8], to file: Descriptor, at offset: Int, in store: any Store) throws {
        if try store.status(of: file).size == 0 {
            try store.allocate(file, mode: 1, offset: 0, length: Int64(Self.headerSize))
            try unsafe store.write(([0, 2] + Random.bytes(16)).span.bytes, to: file, at: 0)
        }
        let header = try store.bytes(of: file, count: Self.headerSize, at: 0)
        var sealed: [UInt8] = []
        let first = offset / Self.blockSize
        for block in first...(offset + bytes.count - 1) / Self.blockSize {
            let start = block * Self.blockSize
            let new = bytes[max(0, start - offset)..<min(bytes.count, start + Self.blockSize - offset)]
            let skip = max(0, offset - start)
            var plain = Array(new)
            if new.count < Self.blockSize {
                plain = try readBlock(block, header, of: file, in: store)
                if plain.count < skip + new.count { plain = plain.first(plain.count, of: skip + new.count) }
                plain.overwrite(at: skip, with: new)
            }
            sealed += try seal(plain, block, header)
        }
        let offset = Int64(Self.headerSize + first * Self.storedSize)
        try store.allocate(file, mode: 1, offset: offset, length: Int64(sealed.count))
        try unsafe store.write(sealed.span.bytes, to: file, at: offset)
    }

    /// All bytes; throws if a block does not verify.
    func contents(of file: Descriptor, in store: any Store) throws -> [UInt8] {
        let size = Int(try store.status(of: file).size)
        guard size > Self.headerSize else { return [] }
        let header = try store.bytes(of: file, count: Self.headerSize, at: 0)
        guard header[..<2] == [0, 2], !header[2...].allSatisfy({ $0 == 0 }) else { throw Errno.EIO }
        let blocks = (size - Self.headerSize + Self.storedSize - 1) / Self.storedSize
        return try (0..<blocks).flatMap { try readBlock($0, header, of: file, in: store) }
    }

    private func readBlock(
        _ block: Int, _ header: [UInt8], of file: Descriptor, in store: any Store
    ) throws -> [UInt8] {
        let stored = try store.bytes(of: file, count: Self.storedSize, at: Self.headerSize + block * Self.storedSize)
        if stored.isEmpty { return [] }
        guard stored.count > 32 else { throw Errno.EIO }
        var plain = [UInt8](repeating: 0, count: stored.count - 32)
        // A hole.
        if stored.isZero(in: 0..<stored.count) { return plain }
        var elements = plain.mutableSpan
        var span = unsafe elements.mutableBytes
        try cipher.setKey(key, for: .open)
        do {
            try unsafe cipher.open(
                stored.span.bytes.extracting(16..<stored.count), nonce: stored.span.bytes.extracting(0..<16),
                associatedData: data(block, header).span.bytes, into: &span)
        } catch { throw Errno.EIO }
        return plain
    }

    private func seal(_ plain: [UInt8], _ block: Int, _ header: [UInt8]) throws -> [UInt8] {
        let nonce = Random.bytes(16)
        var sealed = [UInt8](repeating: 0, count: plain.count + 16)
        var elements = sealed.mutableSpan
        var span = unsafe elements.mutableBytes
        try cipher.setKey(key, for: .seal)
        try unsafe cipher.seal(
            plain.span.bytes, nonce: nonce.span.bytes, associatedData: data(block, header).span.bytes, into: &span)
        return nonce + sealed
    }

    private func data(_ block: Int, _ header: [UInt8]) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: block >> (56 - 8 * $0)) } + header[2...]
    }
}

extension Store {
    /// At most `count` bytes.
    func bytes(of file: Descriptor, count: Int, at offset: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        let got = try read(file, into: &span, at: Int64(offset))
        return Array(bytes.prefix(got))
    }
}

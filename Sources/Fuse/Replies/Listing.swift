import CFuse
import Glibc
import Posix

/// One answer to `readdir`: as many entries of a directory as fit.
///
/// Source: struct fuse_dirent.
public struct Listing: ~Copyable {
    private var buffer: EntryBuffer

    /// `capacity` is the size that `readdir` was given, in bytes.
    public init(capacity: Int) {
        buffer = EntryBuffer(capacity: capacity)
    }

    /// Adds an entry; returns false without a change if it does not fit. `next` is the offset after it: the one at
    /// which `readdir` continues, and what telldir(3) returns.
    public mutating func add(_ name: Name, inode: UInt64, kind: FileKind?, next: Int64) -> Bool {
        let size = DirectoryEntrySize.plain(name)
        guard size <= buffer.room else { return false }
        buffer.append(DirectoryEntrySize.header(name, inode: inode, mode: kind?.mode ?? 0, next: next))
        buffer.append(name, filling: size)
        return true
    }

    public var isEmpty: Bool { buffer.isEmpty }

    /// Valid as long as the listing exists.
    @unsafe var memory: UnsafeRawBufferPointer { unsafe buffer.memory }
}

/// One answer to `readdirplus`: as many entries as fit, each with what a lookup of it would have answered.
///
/// Each entry except `.` and `..` counts as one lookup. An entry with node 0 counts as none, and is looked up when it
/// is used.
///
/// Source: struct fuse_direntplus.
public struct EntryListing: ~Copyable {
    private var buffer: EntryBuffer

    /// `capacity` is the size that `readdirplus` was given, in bytes.
    public init(capacity: Int) {
        buffer = EntryBuffer(capacity: capacity)
    }

    /// Adds an entry; returns false without a change if it does not fit.
    public mutating func add(_ name: Name, _ entry: Entry, next: Int64) -> Bool {
        guard fits(name) else { return false }
        buffer.append(fuse_entry_out(entry))
        buffer.append(
            DirectoryEntrySize.header(name, inode: entry.status.inode, mode: entry.status.mode, next: next))
        buffer.append(name, filling: DirectoryEntrySize.plain(name))
        return true
    }

    /// Whether an entry with this name still fits: so the caller can avoid the cost of a useless lookup.
    public func fits(_ name: Name) -> Bool {
        MemoryLayout<fuse_entry_out>.size + DirectoryEntrySize.plain(name) <= buffer.room
    }

    public var isEmpty: Bool { buffer.isEmpty }

    /// Valid as long as the listing exists.
    @unsafe var memory: UnsafeRawBufferPointer { unsafe buffer.memory }
}

/// The bytes of one entry: a structure of 24 bytes and the name, filled up to a multiple of 8.
private enum DirectoryEntrySize {
    static func plain(_ name: Name) -> Int { (MemoryLayout<EntryHeader>.size + name.bytes.count + 7) & ~7 }

    static func header(_ name: Name, inode: UInt64, mode: UInt32, next: Int64) -> EntryHeader {
        EntryHeader(
            inode: inode, offset: UInt64(bitPattern: next), nameCount: UInt32(name.bytes.count),
            // The type is in the upper bits of the mode: DT_DIR is S_IFDIR >> 12. Source: dirent.h, IFTODT.
            type: (mode >> 12) & 0xf)
    }
}

/// struct fuse_dirent without the name, of no fixed length, behind it.
private struct EntryHeader: BitwiseCopyable {
    let inode, offset: UInt64
    let nameCount, type: UInt32
}

/// The bytes of a listing. Not private: with cross-module optimisation, code that frees a listing elsewhere needs this
/// type.
@safe
struct EntryBuffer: ~Copyable {
    private let storage: UnsafeMutableRawBufferPointer
    private var count = 0

    init(capacity: Int) {
        unsafe storage = .allocate(byteCount: max(capacity, 1), alignment: 8)
    }

    deinit {
        unsafe storage.deallocate()
    }

    var room: Int { unsafe storage.count - count }
    var isEmpty: Bool { count == 0 }

    @unsafe var memory: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: storage[..<count]) }

    /// The caller has checked that there is room.
    mutating func append<Wire: BitwiseCopyable>(_ wire: Wire) {
        precondition(MemoryLayout<Wire>.size <= room)
        unsafe storage.storeBytes(of: wire, toByteOffset: count, as: Wire.self)
        count += MemoryLayout<Wire>.size
    }

    /// Appends the name, and zeros up to what fills an entry of `size` bytes.
    mutating func append(_ name: Name, filling size: Int) {
        let end = count - MemoryLayout<EntryHeader>.size + size
        precondition(end - count <= room)
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: storage[count..<end])
        unsafe rest.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe rest.copyBytes(from: name.bytes)
        count = end
    }
}

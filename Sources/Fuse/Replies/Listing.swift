import CFuse
import Glibc
import Posix

/// One answer to `readdir`: as many entries of a directory as fit.
public struct Listing: ~Copyable {
    private var buffer: EntryBuffer

    /// `capacity` is the size that `readdir` was given, in bytes.
    public init(capacity: Int) {
        buffer = EntryBuffer(capacity: capacity)
    }

    /// Adds an entry; returns false without a change if it does not fit. `next` is the offset after it: the one at
    /// which `readdir` continues, and what telldir(3) returns.
    ///
    /// Source: fuse_add_direntry.
    public mutating func add(_ name: Name, inode: UInt64, kind: FileKind?, next: Int64) -> Bool {
        var status = stat()
        status.st_ino = UInt(inode)
        status.st_mode = kind?.mode ?? 0
        return unsafe name.withCString { name in
            unsafe buffer.add { start, room in
                unsafe fuse_add_direntry(nil, start, room, name, &status, off_t(next))
            }
        }
    }

    public var isEmpty: Bool { buffer.isEmpty }

    /// Valid as long as the listing exists.
    @unsafe var memory: UnsafeRawBufferPointer { unsafe buffer.memory }
}

/// One answer to `readdirplus`: as many entries as fit, each with what a lookup of it would have answered.
///
/// Each entry except `.` and `..` counts as one lookup. An entry with node 0 counts as none, and is looked up when it
/// is used.
public struct EntryListing: ~Copyable {
    private var buffer: EntryBuffer

    /// `capacity` is the size that `readdirplus` was given, in bytes.
    public init(capacity: Int) {
        buffer = EntryBuffer(capacity: capacity)
    }

    /// Adds an entry; returns false without a change if it does not fit.
    ///
    /// Source: fuse_add_direntry_plus.
    public mutating func add(_ name: Name, _ entry: Entry, next: Int64) -> Bool {
        var parameters = fuse_entry_param(entry)
        return unsafe name.withCString { name in
            unsafe buffer.add { start, room in
                unsafe fuse_add_direntry_plus(nil, start, room, name, &parameters, off_t(next))
            }
        }
    }

    /// Whether an entry with this name still fits: so the caller can avoid the cost of a useless lookup.
    public func fits(_ name: Name) -> Bool {
        unsafe buffer.room >= name.withCString { name in unsafe fuse_add_direntry_plus(nil, nil, 0, name, nil, 0) }
    }

    public var isEmpty: Bool { buffer.isEmpty }

    /// Valid as long as the listing exists.
    @unsafe var memory: UnsafeRawBufferPointer { unsafe buffer.memory }
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

    /// `write` writes an entry into the given memory if there is room, and returns the entry's size.
    mutating func add(_ write: (UnsafeMutablePointer<CChar>, Int) -> Int) -> Bool {
        let start = unsafe (storage.baseAddress! + count).assumingMemoryBound(to: CChar.self)
        let size = unsafe write(start, room)
        guard size <= room else { return false }
        count += size
        return true
    }
}

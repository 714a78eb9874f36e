public import Failure
import Glibc
import Posix

/// The mounts that this process sees.
///
/// Source: proc_pid_mountinfo(5).
public struct MountTable: Sendable {
    public struct Entry: Sendable {
        /// As st_dev has it.
        public let device: UInt64
        public let mountPoint: String
        public let type: String
        /// Where the file system says that it comes from; for Latchkey the vault, unless `fsname=` was given.
        public let source: String
        /// Who has mounted it; nil where the file system does not say.
        public let user: UInt32?

        public var isLatchkey: Bool { type == "fuse.latchkey" }
    }

    public let entries: [Entry]

    /// Reads the table anew.
    public init() throws(Failure) {
        do { self.init(try Self.bytes()) } catch {
            throw .io(error, doing: "cannot read the table of mounts")
        }
    }

    /// By bytes: in the characters of a String a name may join the line end, or the space, that follows or precedes it.
    init(_ table: [UInt8]) {
        entries = table.split(separator: UInt8(ascii: "\n")).compactMap(Self.entry)
    }

    /// The mount at this very path; the topmost when several lie on each other.
    public func mount(at path: String) -> Entry? { entries.last { $0.mountPoint.hasSameBytes(as: path) } }

    /// The mount that holds `path`, an absolute path without symbolic links.
    ///
    /// Asks no file system, so it answers for a mount whose daemon is dead as well.
    public func mount(holding path: String) -> Entry? {
        entries.enumerated()
            .filter { path.hasSameBytes(as: $0.element.mountPoint) || path.lies(in: $0.element.mountPoint) }
            .max { ($0.element.mountPoint.utf8.count, $0.offset) < ($1.element.mountPoint.utf8.count, $1.offset) }?
            .element
    }

    /// The Latchkey mount whose files have this st_dev.
    public func latchkeyMount(device: UInt64) -> Entry? { entries.last { $0.isLatchkey && $0.device == device } }

    private static func bytes() throws(Errno) -> [UInt8] {
        try Descriptor.open(path: "/proc/self/mountinfo", O_RDONLY).bytes()
    }

    /// Source: makedev(3), a macro.
    public static func device(_ major: UInt64, _ minor: UInt64) -> UInt64 {
        (major & 0xffff_f000) << 32 | (major & 0xfff) << 8 | (minor & 0xffff_ff00) << 12 | (minor & 0xff)
    }

    private static func entry(_ line: ArraySlice<UInt8>) -> Entry? {
        let fields = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard fields.count > 6, let dash = fields.firstIndex(of: "-"), fields.count > dash + 2 else { return nil }
        let numbers = fields[2].split(separator: ":").compactMap { UInt64($0) }
        guard numbers.count == 2 else { return nil }
        return Entry(
            device: Self.device(numbers[0], numbers[1]), mountPoint: unescaped(fields[4]),
            type: fields[dash + 1], source: unescaped(fields[dash + 2]),
            user: fields.last?.split(separator: ",").compactMap { option in
                option.hasPrefix("user_id=") ? UInt32(option.dropFirst("user_id=".count)) : nil
            }.first)
    }

    /// Undoes the kernel's octal escapes of space, tab, newline and backslash.
    private static func unescaped(_ field: String) -> String {
        var bytes: [UInt8] = []
        var rest = field.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(code)
                rest.removeFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    /// The path with one slash at its end, so that it is a prefix of the paths below it and of no others.
    public var asFolder: String { hasSuffix("/") ? self : self + "/" }

    /// As the file system compares names: two that are one to Unicode, composed and decomposed, are two.
    public func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether it is a path below a folder.
    public func lies(in folder: String) -> Bool { utf8.starts(with: folder.asFolder.utf8) }
}

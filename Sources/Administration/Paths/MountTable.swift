public import Failure
import Glibc
public import Posix

/// The mounts in this process's mount namespace.
///
/// Source: proc_pid_mountinfo(5).
public struct MountTable: Sendable {
    public struct Entry: Sendable {
        /// As in `st_dev`.
        public let device: UInt64
        public let mountPoint: Path
        public let type: String
        /// The source that the file system names; for Latchkey the vault, unless `fsname=` was given.
        public let source: Path
        /// The user who mounted it; nil if the file system does not say.
        public let user: UInt32?

        /// The options of the mount at this path, `ro` or `rw` first.
        public let options: [String]
        /// The options of the whole file system: a bind mount may have others.
        public let superOptions: [String]

        /// Read-only as a whole, not only at this path.
        public var isReadOnly: Bool { superOptions.first == "ro" }

        public var isLatchkey: Bool { type == "fuse.latchkey" }
    }

    public let entries: [Entry]

    /// Reads the current table.
    public init() throws(Failure) {
        do { self.init(try Self.bytes()) } catch {
            throw .io(error, doing: "cannot read the table of mounts")
        }
    }

    init(_ table: [UInt8]) {
        entries = table.split(separator: UInt8(ascii: "\n")).compactMap(Self.entry)
    }

    /// The mount at this path; the topmost if several are stacked.
    public func mount(at path: Path) -> Entry? { entries.last { $0.mountPoint == path } }

    /// The mount that holds `path`, an absolute path without symbolic links.
    ///
    /// Asks no file system, so it also works for a mount whose daemon is dead.
    public func mount(holding path: Path) -> Entry? {
        entries.enumerated()
            .filter { path.isInside($0.element.mountPoint) }
            .max { ($0.element.mountPoint.bytes.count, $0.offset) < ($1.element.mountPoint.bytes.count, $1.offset) }?
            .element
    }

    /// The Latchkey mount whose files have this `st_dev`.
    public func latchkeyMount(device: UInt64) -> Entry? { entries.last { $0.isLatchkey && $0.device == device } }

    private static func bytes() throws(Errno) -> [UInt8] {
        try Descriptor.open(path: "/proc/self/mountinfo", O_RDONLY).bytes()
    }

    /// Source: makedev(3), a macro.
    public static func device(_ major: UInt64, _ minor: UInt64) -> UInt64 {
        (major & 0xffff_f000) << 32 | (major & 0xfff) << 8 | (minor & 0xffff_ff00) << 12 | (minor & 0xff)
    }

    private static func entry(_ line: ArraySlice<UInt8>) -> Entry? {
        let bytes = line.split(separator: UInt8(ascii: " "))
        let fields = bytes.map { String(decoding: $0, as: UTF8.self) }
        guard fields.count > 6, let dash = fields.firstIndex(of: "-"), fields.count > dash + 2 else { return nil }
        let numbers = fields[2].split(separator: ":").compactMap { UInt64($0) }
        guard numbers.count == 2 else { return nil }
        func list(_ field: String) -> [String] { field.split(separator: ",").map(String.init) }
        return Entry(
            device: Self.device(numbers[0], numbers[1]), mountPoint: unescaped(bytes[4]),
            type: fields[dash + 1], source: unescaped(bytes[dash + 2]),
            user: list(fields[fields.count - 1]).compactMap { option in
                option.hasPrefix("user_id=") ? UInt32(option.dropFirst("user_id=".count)) : nil
            }.first,
            options: list(fields[5]), superOptions: list(fields[fields.count - 1]))
    }

    /// Decodes the kernel's octal escapes of space, tab, newline and backslash.
    private static func unescaped(_ field: ArraySlice<UInt8>) -> Path {
        var bytes: [UInt8] = []
        var rest = field
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
        return Path(bytes: bytes)
    }
}

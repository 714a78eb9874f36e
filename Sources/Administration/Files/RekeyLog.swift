public import Format
import Glibc
public import Posix

/// Records which files below a folder have new keys, so that an interrupted or killed run can be continued: a hidden
/// file in the folder, with a line for each copy that has replaced its file.
///
/// A copy is identified by inode number and birth time: nothing else shows that a key was never wrapped for a weaker
/// class. A missing line only costs time, so none is flushed. One run at a time holds the file, by flock(2).
public final class RekeyLog {
    private static let name = Name(".latchkey-rekeying")

    private struct Copy: Hashable {
        let inode: UInt64
        let birthTime: Timespec
    }

    private let folder: Descriptor
    private let file: Descriptor
    /// Lines of other classes are ignored: the key of such a copy was wrapped for that other class as well.
    private let protectionClass: ProtectionClass
    private var end: Int64 = 0
    private var done: Set<Copy> = []

    /// Nil if the file cannot be made or is in use: then an interrupted run starts again.
    public init?(in folder: ClassedFile, for protectionClass: ProtectionClass) {
        guard folder.status.kind == .directory else { return nil }
        self.protectionClass = protectionClass
        do {
            self.folder = try folder.file.open(.current, O_RDONLY | O_DIRECTORY)
            file = try self.folder.open(Self.name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
            try file.lockExclusively()
            guard try file.status().kind == .regular else { return nil }
            try load()
        } catch { return nil }
    }

    private func load() throws(Errno) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var rest: [UInt8] = []
        while true {
            let count = try file.read(into: &buffer, at: end)
            if count == 0 { break }
            end += Int64(count)
            var lines = (rest + buffer[..<count]).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            rest = Array(lines.removeLast())
            for line in lines { note(line) }
        }
        // Ends a line that was written partially.
        if !rest.isEmpty { try append("") }
    }

    private func note(_ line: ArraySlice<UInt8>) {
        let numbers = line.split(separator: UInt8(ascii: " ")).map { Int64(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 4, let inode = numbers[0], let seconds = numbers[1], let nanoseconds = numbers[2],
            numbers[3] == Int64(protectionClass.rawValue)
        else { return }
        done.insert(
            Copy(inode: UInt64(bitPattern: inode), birthTime: Timespec(seconds: seconds, nanoseconds: nanoseconds)))
    }

    private func append(_ line: String) throws(Errno) {
        let bytes = Array((line + "\n").utf8)
        try unsafe file.write(bytes.span.bytes, at: end)
        end += Int64(bytes.count)
    }

    public static func isLog(_ name: Name) -> Bool { name == Self.name }

    public func contains(_ file: ClassedFile) throws(Errno) -> Bool {
        guard !done.isEmpty, let birthTime = try file.file.birthTime() else { return false }
        return done.contains(Copy(inode: file.status.inode, birthTime: birthTime))
    }

    /// Records that the copy has replaced its file.
    public func add(_ copy: Descriptor) {
        guard let status = try? copy.status(), let birthTime = try? copy.birthTime() else { return }
        try? append(
            "\(Int64(bitPattern: status.inode)) \(birthTime.seconds) \(birthTime.nanoseconds) "
                + "\(protectionClass.rawValue)"
        )
    }

    /// Removes the file when everything is done.
    public func remove() { try? folder.unlink(Self.name) }
}

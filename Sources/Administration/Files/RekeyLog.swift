public import Format
import Glibc
public import Posix

/// Remembers in a folder which of the files below it have got new keys, so that work that was interrupted, or killed,
/// can go on: a hidden file, with a line for each copy that has taken its file's place.
///
/// A copy is known by its inode number and the time at which it was made: nothing else tells a key that no weaker class
/// has wrapped. A line that is missing costs time and nothing else, so none is synced. One run at a time has it.
public final class RekeyLog {
    private static let name = Name(".latchkey-rekeying")

    private struct Copy: Hashable {
        let inode: UInt64
        let birthTime: Timespec
    }

    private let folder: Descriptor
    private let file: Descriptor
    /// A copy that was made for another class has a key that this one has wrapped as well.
    private let protectionClass: ProtectionClass
    private var end: Int64 = 0
    private var done: Set<Copy> = []

    /// Nil where there cannot be one: then work that was interrupted begins anew.
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
        // A line that was cut off ends here.
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

    /// The copy has taken its file's place.
    public func add(_ copy: Descriptor) {
        guard let status = try? copy.status(), let birthTime = try? copy.birthTime() else { return }
        try? append(
            "\(Int64(bitPattern: status.inode)) \(birthTime.seconds) \(birthTime.nanoseconds) \(protectionClass.rawValue)"
        )
    }

    /// All is done.
    public func remove() { try? folder.unlink(Self.name) }
}

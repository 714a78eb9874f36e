import Crypto
import Posix
import Store

/// The digest of each file's contents: as they were read from the original, and as they were read back from the copy.
///
/// For one thread.
final class DigestLog {
    struct Digests {
        let before: [UInt8]
        let after: [UInt8]
    }

    private static let name: Name = "digests"
    private let store: any Store
    private let folder: Descriptor
    private let log: LineLog

    init(in folder: Descriptor, _ store: any Store) throws(Errno) {
        self.store = store
        self.folder = folder
        log = try LineLog(Self.name, in: folder, store) { _ in }
    }

    /// Durable after `flush`. A file that is noted again has the later digests.
    func note(_ path: TreePath, before: [UInt8], after: [UInt8]) {
        log.add(Array([path.bytes, before, after].map(LineField.hex).joined(separator: " ").utf8))
    }

    func flush() throws(Errno) { try log.flush() }

    /// What `sha256sum` prints for all files, before and after, in the order of the bytes of their paths.
    func manifests() throws(Errno) -> (before: [UInt8], after: [UInt8]) {
        var entries: [[UInt8]: Digests] = [:]
        _ = try LineLog(Self.name, in: folder, store) { line in
            let fields = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard fields.count == 3, let path = LineField.bytes(fields[0]),
                let before = LineField.bytes(fields[1]), let after = LineField.bytes(fields[2])
            else { return }
            entries[path] = Digests(before: before, after: after)
        }
        var (before, after): ([UInt8], [UInt8]) = ([], [])
        for (path, digests) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let name = Self.escaped([UInt8(ascii: "."), UInt8(ascii: "/")] + path)
            before += Self.line(digests.before, name)
            after += Self.line(digests.after, name)
        }
        return (before, after)
    }

    private static func line(_ digest: [UInt8], _ name: (bytes: [UInt8], isEscaped: Bool)) -> [UInt8] {
        (name.isEscaped ? [UInt8(ascii: "\\")] : []) + Array("\(LineField.hex(digest))  ".utf8) + name.bytes
            + [UInt8(ascii: "\n")]
    }

    /// As sha256sum(1) writes names with a backslash, a newline or a carriage return.
    private static func escaped(_ name: [UInt8]) -> (bytes: [UInt8], isEscaped: Bool) {
        var bytes: [UInt8] = []
        for byte in name {
            switch byte {
            case UInt8(ascii: "\\"): bytes += Array("\\\\".utf8)
            case UInt8(ascii: "\n"): bytes += Array("\\n".utf8)
            case UInt8(ascii: "\r"): bytes += Array("\\r".utf8)
            default: bytes.append(byte)
            }
        }
        return (bytes, bytes.count != name.count)
    }
}

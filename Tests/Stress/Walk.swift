import Glibc
import Posix

/// Reads a whole tree that no process changes, and prints it: the mode, links and time of each entry, its contents, and
/// its attributes. Anything that cannot be read or is inconsistent ends the process.
struct Walk {
    /// The names found of each inode, and the number of links that the inode reports.
    private var links: [UInt64: (found: UInt64, said: UInt64)] = [:]

    mutating func walk(_ path: String) {
        let root = must("open \(path)") { () throws(Errno) in try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY) }
        enter(root, path: "")
        for (inode, count) in links where count.found != count.said {
            fail("inode \(inode) has \(count.found) names and says \(count.said)")
        }
    }

    private mutating func enter(_ folder: Descriptor, path: String) {
        let entries = must("readdir \(path)") { () throws(Errno) in try folder.entries() }
        for entry in entries.sorted(by: { $0.name.description < $1.name.description }) {
            let path = path + "/\(entry.name)"
            let status = must("stat \(path)") { () throws(Errno) in try folder.status(of: entry.name) }
            guard entry.inode == status.inode, entry.kind == status.kind else {
                fail("\(path): readdir and stat do not agree: \(entry), \(status)")
            }
            print(
                path, String(status.mode, radix: 8), status.linkCount,
                "\(status.modified.seconds).\(status.modified.nanoseconds)",
                contents(of: entry, in: folder, path: path),
                attributes(of: entry, in: folder, path: path))
            if status.kind == .directory {
                enter(
                    must("open \(path)") { () throws(Errno) in try folder.open(entry.name, O_RDONLY | O_DIRECTORY) },
                    path: path)
            } else {
                links[status.inode, default: (0, status.linkCount)].found += 1
            }
        }
    }

    private func contents(of entry: DirectoryEntry, in folder: Descriptor, path: String) -> String {
        switch entry.kind {
        case .symbolicLink:
            let target = must("readlink \(path)") { () throws(Errno) in try folder.readSymbolicLink(entry.name) }
            return String(decoding: target, as: UTF8.self)
        case .regular:
            let file = must("open \(path)") { () throws(Errno) in try folder.open(entry.name, O_RDONLY) }
            var (offset, digest) = (0, 0xcbf2_9ce4_8422_2325 as UInt64)
            while true {
                let bytes = must("read \(path) at \(offset)") { () throws(Errno) in
                    try file.bytes(at: Int64(offset), count: 1 << 16)
                }
                guard !bytes.isEmpty else { return "\(offset) bytes \(String(digest, radix: 16))" }
                if let flaw = Cells.flaw(in: bytes) { fail("\(path) at \(offset + flaw): never written") }
                // FNV-1a.
                for byte in bytes { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
                offset += bytes.count
            }
        default: return "-"
        }
    }

    private func attributes(of entry: DirectoryEntry, in folder: Descriptor, path: String) -> String {
        guard entry.kind == .regular || entry.kind == .directory else { return "-" }
        let file = must("open \(path)") { () throws(Errno) in try folder.open(entry.name, O_PATH) }
        let names = must("listxattr \(path)") { () throws(Errno) in try file.attributeNames() }
        return names.sorted().map { name in
            let value = must("getxattr \(path) \(name)") { () throws(Errno) in try file.attribute(name) }
            return "\(name)=\(String(decoding: value, as: UTF8.self))"
        }.joined(separator: ",")
    }

    private func must<Result>(_ what: String, _ body: () throws(Errno) -> Result) -> Result {
        do throws(Errno) { return try body() } catch { fail("\(what): \(error.name)") }
    }
}

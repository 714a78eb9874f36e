import Glibc
import Posix

/// The programs that have files in a folder open for writing, as far as this user may see them.
///
/// Source: proc_pid_fd(5), proc_pid_fdinfo(5), proc_pid_maps(5).
struct OpenWriters {
    struct Writer: Hashable {
        let process: Int
        let name: String
        /// One of its files.
        let file: Path
        let count: Int
    }

    let writers: [Writer]

    init(in folder: Path) {
        let processes = (try? Descriptor.open(path: "/proc", O_RDONLY | O_DIRECTORY).entries()) ?? []
        writers = processes.compactMap { Int("\($0.name)") }.sorted().filter { $0 != getpid() }
            .compactMap { Self.writer($0, in: folder) }
    }

    private static func writer(_ process: Int, in folder: Path) -> Writer? {
        let files = Set(opened(by: process) + mapped(by: process)).filter { $0.isInside(folder) }
        guard let first = files.min() else { return nil }
        let name = (try? Descriptor.open(path: "/proc/\(process)/comm", O_RDONLY).bytes(atMost: 64)) ?? []
        return Writer(
            process: process, name: String(decoding: name.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self),
            file: first, count: files.count)
    }

    private static func opened(by process: Int) -> [Path] {
        guard let folder = try? Descriptor.open(path: "/proc/\(process)/fd", O_RDONLY | O_DIRECTORY),
            let entries = try? folder.entries()
        else { return [] }
        return entries.compactMap { entry in
            let info =
                (try? Descriptor.open(path: "/proc/\(process)/fdinfo/\(entry.name)", O_RDONLY).bytes(atMost: 4096))
            guard let info, let flags = flags(in: info), flags & O_ACCMODE != O_RDONLY else { return nil }
            return (try? folder.readSymbolicLink(entry.name)).map { Path(bytes: $0) }
        }
    }

    /// The line "flags:" has them in octal.
    private static func flags(in info: [UInt8]) -> Int32? {
        for line in String(decoding: info, as: UTF8.self).split(separator: "\n") where line.hasPrefix("flags:") {
            return Int32(line.dropFirst(6).filter { !$0.isWhitespace }, radix: 8)
        }
        return nil
    }

    /// Shared mappings that may be written to.
    private static func mapped(by process: Int) -> [Path] {
        let table = (try? Descriptor.open(path: "/proc/\(process)/maps", O_RDONLY).bytes()) ?? []
        return table.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard fields.count == 6, fields[1].count == 4, fields[1].dropFirst().first == UInt8(ascii: "w"),
                fields[1].last == UInt8(ascii: "s")
            else { return nil }
            return Path(bytes: fields[5].drop { $0 == UInt8(ascii: " ") })
        }
    }

    /// One line for each program.
    var lines: [Printable] {
        writers.map { writer in
            let more: Printable = writer.count > 1 ? " and \(Amount.of(writer.count - 1, "other file"))" : ""
            return "\(writer.process) (\(writer.name)): \(writer.file)\(more)"
        }
    }
}

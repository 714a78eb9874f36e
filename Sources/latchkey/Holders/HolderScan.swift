import Glibc
import Posix

/// A scan of all processes for those that have files of some mounts open or mapped.
struct HolderScan {
    /// The processes that have any, by number.
    let processes: [ProcessFiles]
    /// Number of other processes that this user may not see completely.
    let unseen: Int

    /// - Parameter devices: `st_dev` of the mounts.
    init(devices: Set<UInt64>) throws(CommandError) {
        let entries: [DirectoryEntry]
        do {
            entries = try Descriptor.open(path: "/proc", O_RDONLY | O_DIRECTORY).entries()
        } catch {
            throw CommandError(cannot: "list", "/proc", error)
        }
        let all = entries.compactMap { Int("\($0.name)") }.sorted()
            .filter { $0 != getpid() }.compactMap { ProcessFiles($0, on: devices) }
        processes = all.filter { !$0.opened.isEmpty || !$0.mapped.isEmpty || !$0.folders.isEmpty }
        unseen = all.count { $0.isHidden }
    }

    /// A line for each process, without the classes of its files, which only a daemon knows.
    var lines: [Printable] {
        let lines = processes.map { process -> Printable in
            let files = process.opened.union(process.mapped).count
            let folders = Holder.text(
                ofFolders: process.folders.count, process.workingFolder != nil, process.root != nil)
            let parts = (files > 0 ? [Amount.of(files, "file")] : []) + (process.folders.isEmpty ? [] : [folders])
            return "\(process.process) (\(process.name)): \(parts.joined(separator: "; "))"
        }
        return lines + Holders.lines(ofUnseen: unseen)
    }
}

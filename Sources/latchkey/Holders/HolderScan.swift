import Glibc
import Posix

/// One look at all processes, for those that have files of some mounts open or mapped.
struct HolderScan {
    /// Those that have any, by their numbers.
    let processes: [ProcessFiles]
    /// How many others there are, of which not all was to be seen for want of permission.
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
}

import Administration
import Glibc
import Posix

/// The files that one process has open or mapped, as far as this user may see them.
///
/// Source: proc_pid_fd(5), proc_pid_maps(5), proc_pid_comm(5).
struct ProcessFiles {
    let process: Int
    let name: String
    let opened: Set<KnownInode>
    let mapped: Set<KnownInode>
    /// Open folders, the working directory and the root.
    let folders: Set<KnownInode>
    /// Nil if it is not in one of the mounts.
    let workingFolder, root: KnownInode?
    /// Whether this user may not see all of them.
    let isHidden: Bool

    /// Nil for a process that has ended.
    ///
    /// - Parameter devices: `st_dev` of the mounts to look for.
    init?(_ process: Int, on devices: Set<UInt64>) {
        guard let name = try? Descriptor.open(path: "/proc/\(process)/comm", O_RDONLY).bytes(atMost: 64) else {
            return nil
        }
        self.process = process
        self.name = String(decoding: name.last == UInt8(ascii: "\n") ? name.dropLast() : name, as: UTF8.self)
        var isHidden = false
        var folders: Set<KnownInode> = []
        opened = Self.look(&isHidden) { () throws(Errno) in try Self.opened(by: process, on: devices, &folders) }
        let ends = ["cwd", "root"].map { link in
            Self.look(&isHidden) { () throws(Errno) in
                let folder = try KnownInode(path: "/proc/\(process)/\(link)")
                return devices.contains(folder.device) ? [folder] : []
            }
        }
        self.folders = folders.union(ends[0]).union(ends[1])
        (workingFolder, root) = (ends[0].first, ends[1].first)
        mapped = Self.look(&isHidden) { () throws(Errno) in try Self.mapped(by: process, on: devices) }
        self.isHidden = isHidden
    }

    /// Runs `body`; what has disappeared since counts as empty.
    private static func look(
        _ isHidden: inout Bool, _ body: () throws(Errno) -> Set<KnownInode>
    ) -> Set<KnownInode> {
        do throws(Errno) {
            return try body()
        } catch {
            if error == .EACCES || error == .EPERM { isHidden = true }
            return []
        }
    }

    private static func opened(
        by process: Int, on devices: Set<UInt64>, _ folders: inout Set<KnownInode>
    ) throws(Errno) -> Set<KnownInode> {
        let folder = "/proc/\(process)/fd"
        var files: Set<KnownInode> = []
        for entry in try Descriptor.open(path: folder, O_RDONLY | O_DIRECTORY).entries() {
            do throws(Errno) {
                let file = try KnownInode(path: "\(folder)/\(entry.name)")
                guard devices.contains(file.device) else { continue }
                if try KnownInode.isDirectory(path: "\(folder)/\(entry.name)") {
                    folders.insert(file)
                } else {
                    files.insert(file)
                }
            } catch .ENOENT {
                // The descriptor was closed since.
            }
        }
        return files
    }

    private static func mapped(by process: Int, on devices: Set<UInt64>) throws(Errno) -> Set<KnownInode> {
        let table = try Descriptor.open(path: "/proc/\(process)/maps", O_RDONLY).bytes()
        // Splits bytes: in a String, a name's character may combine with the line end after it.
        return Set(
            table.split(separator: UInt8(ascii: "\n")).compactMap(file).filter { devices.contains($0.device) })
    }

    /// The file of one line of maps; nil for anonymous memory.
    private static func file(_ line: ArraySlice<UInt8>) -> KnownInode? {
        let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5).map { String(decoding: $0, as: UTF8.self) }
        guard fields.count >= 5, let inode = UInt64(fields[4]), inode != 0 else { return nil }
        let numbers = fields[3].split(separator: ":").compactMap { UInt64($0, radix: 16) }
        guard numbers.count == 2 else { return nil }
        return KnownInode(device: MountTable.device(numbers[0], numbers[1]), inode: inode)
    }
}

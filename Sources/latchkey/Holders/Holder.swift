import Control
import Failure
import Format
import Glibc
import Posix

/// A process that has files of one mount open or mapped.
struct Holder: Codable {
    let pid: Int
    let name: String
    /// How many files it has open or mapped, by the long name of their class.
    let openFiles: [String: Int]
    let mappedFiles: [String: Int]
    /// How many folders it has open or as working directory: these prevent an unmount too.
    let folders: Int
    /// Whether one of the folders is its working directory, or its root.
    var workingFolder = false
    var root = false

    /// As "A: 2 open, 1 mapped; C: 1 open; 1 folder (working folder)".
    var text: String {
        var parts = ProtectionClass.allCases.compactMap { kind -> String? in
            let counts = [(openFiles[kind.name], "open"), (mappedFiles[kind.name], "mapped")]
                .compactMap { count, what in count.map { "\($0) \(what)" } }
            return counts.isEmpty ? nil : "\(kind.letter): \(counts.joined(separator: ", "))"
        }
        if folders > 0 { parts.append(Self.text(ofFolders: folders, workingFolder, root)) }
        return parts.joined(separator: "; ")
    }

    /// As "2 folders (working folder, root)".
    static func text(ofFolders count: Int, _ workingFolder: Bool, _ root: Bool) -> String {
        let which = [workingFolder ? "working folder" : nil, root ? "root" : nil].compactMap(\.self)
        return Amount.of(count, "folder") + (which.isEmpty ? "" : " (\(which.joined(separator: ", ")))")
    }
}

/// The processes that hold files of one mount.
struct Holders: Codable {
    let holders: [Holder]
    /// Number of processes that this user may not see completely.
    let unseenProcesses: Int

    init(holders: [Holder], unseenProcesses: Int) {
        self.holders = holders
        self.unseenProcesses = unseenProcesses
    }

    /// Asks the daemon for the classes. A file that the daemon does not know as open was closed since, or the
    /// descriptor only names it (O_PATH).
    init(of mount: ServedMount, in scan: HolderScan) throws(CommandError) {
        let device = mount.status.device
        let inodes = Set(scan.processes.flatMap { $0.opened.union($0.mapped) }.filter { $0.device == device })
            .map(\.inode)
        let classes: [String?]
        do throws(Failure) {
            classes = try mount.client.classes(ofInodes: inodes)
        } catch {
            throw CommandError(error, at: mount.status.mountPoint)
        }
        let known = Dictionary(uniqueKeysWithValues: zip(inodes, classes)).compactMapValues { $0 }
        holders = scan.processes.compactMap { process in
            let count = { (files: Set<KnownInode>) in
                files.filter { $0.device == device }.compactMap { known[$0.inode] }
                    .reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            let holder = Holder(
                pid: process.process, name: process.name, openFiles: count(process.opened),
                mappedFiles: count(process.mapped), folders: process.folders.count { $0.device == device },
                workingFolder: process.workingFolder?.device == device, root: process.root?.device == device)
            let isIdle = holder.openFiles.isEmpty && holder.mappedFiles.isEmpty && holder.folders == 0
            return isIdle ? nil : holder
        }
        unseenProcesses = scan.unseen
    }

    /// Scans all processes for one mount.
    init(of mount: ServedMount) throws(CommandError) {
        try self.init(of: mount, in: HolderScan(devices: [mount.status.device]))
    }

    /// A line for each process, and one for those that this user may not see.
    var lines: [Printable] {
        var lines: [Printable] = holders.map { "\($0.pid) (\($0.name)): \($0.text)" }
        if lines.isEmpty { lines = ["no process"] }
        return lines + Self.lines(ofUnseen: unseenProcesses)
    }

    /// A line for the processes that this user may not see; none if there are none.
    static func lines(ofUnseen count: Int) -> [Printable] {
        guard count > 0 else { return [] }
        let noun = count == 1 ? "process" : "processes"
        let why = geteuid() == 0 ? "ended meanwhile, or protected" : "only root sees all"
        return ["\(Amount.count(count)) \(noun) could not be looked at: \(why)"]
    }
}

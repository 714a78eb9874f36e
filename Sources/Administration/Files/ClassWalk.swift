public import Failure
public import Format
import Glibc
public import Posix

/// Sets the class of files, or of folders and everything below them, and gives a new key to files with contents.
public final class ClassWalk {
    private let protectionClass: ProtectionClass
    private let isRecursive: Bool
    private let rekeys: Bool
    private let watcher: any Watcher
    /// Whether the walk was stopped before its end.
    private var isStopped = false

    /// What a walk asks and reports, on the thread that runs it.
    public protocol Watcher: Sendable {
        /// Whether to stop before the next file, or the next piece of a file's contents.
        func stops() -> Bool

        /// The walk has reached a file.
        func visits(_ path: [UInt8])

        /// A file or folder did not get its class, or its new key: `interrupted`, `io`, `classLocked`, `classRefused`,
        /// `severalLinks`, `changedDuringCopy`, or what is wrong with a path that was given.
        func fails(_ failure: Failure, at path: [UInt8])

        /// No log can be kept: the next walk will not know which files have new keys, and starts again.
        func forgets()
    }

    /// - Parameter rekeys: whether files with contents get new keys.
    public init(_ protectionClass: ProtectionClass, recursive: Bool, rekeys: Bool, _ watcher: any Watcher) {
        self.protectionClass = protectionClass
        isRecursive = recursive
        self.rekeys = rekeys
        self.watcher = watcher
    }

    /// Returns when everything possible is done, or when the watcher has stopped the walk.
    public func run(on paths: [Path], in mounts: MountTable) {
        for path in paths where !stops() {
            do throws(Failure) {
                let file = try ClassedFile(path: path, in: mounts)
                let log = isRecursive && rekeys ? RekeyLog(in: file, for: protectionClass) : nil
                if isRecursive && rekeys && log == nil { watcher.forgets() }
                visit(file, log)
                if !isStopped { log?.remove() }
            } catch {
                let path = path.bytes
                watcher.visits(path)
                watcher.fails(error, at: path)
            }
        }
    }

    private func stops() -> Bool {
        guard watcher.stops() else { return false }
        isStopped = true
        return true
    }

    /// One folder on the path from the start of the walk.
    private struct Level {
        /// Nil if it was closed to save descriptors: it is opened again by its name when the walk returns to it.
        var folder: ClassedFile?
        let path: [UInt8]
        let name: Name
        let inode: UInt64
        /// The entries that the walk has not visited yet.
        var names: ArraySlice<Name>
    }

    /// The most folders that are kept open.
    private static let mostOpen = 32

    /// Sets the class of `file`, then of everything below it. Uses no recursion, so depth is not limited.
    private func visit(_ file: ClassedFile, _ log: RekeyLog?) {
        var levels: [Level] = []
        enter(file, log, &levels)
        while let last = levels.indices.last {
            guard let name = levels[last].names.popFirst() else {
                levels.removeLast()
                continue
            }
            if stops() { return }
            do throws(Errno) {
                let folder = try folder(of: last, &levels)
                let child = try ClassedFile(name, in: folder)
                // A file system that is mounted below is not changed.
                guard child.hasClass, child.status.device == folder.status.device else { continue }
                enter(child, log, &levels)
                if levels.count > Self.mostOpen { levels[levels.count - Self.mostOpen].folder = nil }
            } catch {
                watcher.fails(
                    .io(error, doing: "open"), at: levels[last].path + [UInt8(ascii: "/")] + name.bytes)
            }
        }
    }

    /// The folder of a level, opened again from the nearest open one above it; the first is always open. The levels
    /// just above it are opened too, since the walk returns to them next.
    private func folder(of level: Int, _ levels: inout [Level]) throws(Errno) -> ClassedFile {
        if let folder = levels[level].folder { return folder }
        var open = level
        while open > 0, levels[open].folder == nil { open -= 1 }
        guard let top = levels[open].folder else { throw .ESTALE }
        var (parent, file, status) = (top.parent, top.file, top.status)
        for next in open + 1...level {
            (parent, file) = (file, try file.open(levels[next].name, O_PATH | O_NOFOLLOW))
            status = try file.status()
            // Another folder has been put in its place.
            guard status.inode == levels[next].inode, status.device == top.status.device else { throw .ESTALE }
            if next < level, level - next < Self.mostOpen / 2, !levels[next].names.isEmpty {
                levels[next].folder = ClassedFile(again: file, status, levels[next].path, levels[next].name, in: parent)
            }
        }
        let folder = ClassedFile(again: file, status, levels[level].path, levels[level].name, in: parent)
        levels[level].folder = folder
        return folder
    }

    private func enter(_ file: ClassedFile, _ log: RekeyLog?, _ levels: inout [Level]) {
        watcher.visits(file.path)
        do throws(Failure) { try set(file, log) } catch { watcher.fails(error, at: file.path) }
        guard isRecursive, file.status.kind == .directory else { return }
        let names: [Name]
        do { names = try file.children() } catch { return watcher.fails(.io(error, doing: "list"), at: file.path) }
        // Without a log another run may be at work here.
        if log != nil { Rekeying.removeOrphans(names, in: file.file) }
        let others = names.filter { !rekeys || !(Rekeying.isCopy($0) || RekeyLog.isLog($0)) }
        levels.append(
            Level(folder: file, path: file.path, name: file.name, inode: file.status.inode, names: others[...]))
    }

    private func set(_ file: ClassedFile, _ log: RekeyLog?) throws(Failure) {
        do throws(Errno) {
            let isExplicit = try file.isExplicit()
            let hasClass = isExplicit ? try file.protectionClass() == protectionClass : false
            if !hasClass { try file.setClass(protectionClass) }
            guard rekeys, file.status.kind == .regular, file.status.size > 0 else { return }
            if hasClass, let log, try log.contains(file) { return }
        } catch .EPERM {
            throw .classRefused(isOwner: geteuid() == 0 || geteuid() == file.status.owner)
        } catch .ENOKEY {
            throw .classLocked
        } catch {
            throw .io(error, doing: "set the class of")
        }
        let copy = try Rekeying(file) { [self] in stops() }.run()
        log?.add(copy)
    }
}

import Crypto
import Format
import Posix
import Store
import Vault

/// A directory under check.
final class CheckedFolder: Sendable {
    let directory: Directory
    let treePath: TreePath
    /// Its share of the whole, for the progress.
    let share: UInt64

    init(_ directory: Directory, _ treePath: TreePath, share: UInt64) {
        self.directory = directory
        self.treePath = treePath
        self.share = share
    }
}

/// The work of one thread of a check, with its own memory for blocks.
final class CheckWorker {
    let check: Check
    let scratch: Scratch

    var vault: Vault { check.vault }
    var store: any Store { check.vault.store }

    init(_ check: Check) throws(CryptoError) {
        self.check = check
        scratch = try Scratch()
    }

    func run(_ job: CheckQueue.Job) {
        guard !check.isCancelled else { return }
        switch job {
        case .folder(let folder): walk(folder)
        case .entries(let folder, let entries, let part): self.check(entries, in: folder, part: part)
        case .blocks(let contents, let blocks): verify(blocks, of: contents)
        }
    }

    // MARK: - The walk

    /// A directory on the path of the walk, with the listing as far as it has been read.
    private struct Level {
        /// Nil once it was closed; it is opened again by its name when the walk comes back.
        var folder: CheckedFolder?
        let treePath: TreePath
        /// Nil once it has been read to its end.
        var listing: Descriptor?
        /// The share of one entry in the whole.
        let part: UInt64
        var folders: [DirectoryEntry] = []

        /// Whether nothing is left to do, so that it need not be opened again.
        var isDone: Bool { folder == nil && listing == nil && folders.isEmpty }
    }

    /// Checks a directory and everything below it, without recursion and with a bounded number of descriptors: in a
    /// deep tree only the first and the last directories on the path are open.
    private func walk(_ top: CheckedFolder) {
        var levels: [Level] = []
        descend(into: top, &levels)
        while !levels.isEmpty, !check.isCancelled {
            let last = levels.count - 1
            let part = levels[last].part
            if levels[last].isDone {
                levels.removeLast()
                continue
            }
            let folder: CheckedFolder
            do throws(VaultError) { folder = try self.folder(of: last, &levels) } catch {
                let level = levels.removeLast()
                report(error, .unreadable, "the folder cannot be listed to its end", at: Spot(treePath: level.treePath))
                continue
            }
            if let entry = levels[last].folders.popLast() {
                guard let inner = openFolder(entry.name, in: folder, share: part) else {
                    check.progress.advance(by: part)
                    continue
                }
                guard !check.queue.offer(.folder(inner)) else { continue }
                descend(into: inner, &levels)
                if levels.count > check.mostOpen { closeLevel(levels.count - check.mostOpen, &levels) }
            } else if let more = nextEntries(&levels[last]) {
                if !check.queue.offer(.entries(folder, more, part: part)) { self.check(more, in: folder, part: part) }
            } else {
                levels.removeLast()
            }
        }
    }

    /// Closes a directory to which the walk will come back. The other entries of its listing are checked first.
    private func closeLevel(_ level: Int, _ levels: inout [Level]) {
        guard let folder = levels[level].folder else { return }
        while let more = nextEntries(&levels[level]), !check.isCancelled {
            check(more, in: folder, part: levels[level].part)
        }
        levels[level].listing = nil
        levels[level].folder = nil
    }

    /// The directory of a level, opened again from the nearest open one above it. The first one is always open.
    ///
    /// Keeps the levels right above it open too, since the walk comes back to them next: so a tree of n levels takes at
    /// most n * n / `mostOpen` opens.
    private func folder(of level: Int, _ levels: inout [Level]) throws(VaultError) -> CheckedFolder {
        if let folder = levels[level].folder { return folder }
        var open = level
        while open > 0, levels[open].folder == nil { open -= 1 }
        guard var directory = levels[open].folder?.directory else { throw .system(.ESTALE) }
        for next in open..<level {
            guard let name = levels[next + 1].treePath.name else { throw .system(.ESTALE) }
            directory = try vault.openDirectory(name, in: directory)
            if next + 1 < level, level - next < check.mostOpen / 2, !levels[next + 1].isDone {
                levels[next + 1].folder = CheckedFolder(directory, levels[next + 1].treePath, share: 0)
            }
        }
        let folder = CheckedFolder(directory, levels[level].treePath, share: 0)
        levels[level].folder = folder
        return folder
    }

    private func descend(into folder: CheckedFolder, _ levels: inout [Level]) {
        check.progress.countDirectory()
        checkAttributes(
            of: AttributeOwner.directory(folder.directory).subject, Spot(treePath: folder.treePath))
        do throws(VaultError) {
            var part: UInt64 = 0
            if check.estimates {
                let listing = try open(folder)
                var count: UInt64 = 0
                while case let more = try next(listing), !more.isEmpty { count += UInt64(more.count) }
                part = folder.share / max(count, 1)
            }
            levels.append(Level(folder: folder, treePath: folder.treePath, listing: try open(folder), part: part))
        } catch { report(error, .unreadable, "the folder cannot be listed", at: Spot(treePath: folder.treePath)) }
    }

    /// A listing has its own offset, so it needs its own open file.
    private func open(_ folder: CheckedFolder) throws(VaultError) -> Descriptor {
        try vault.openFolder(.current, in: folder.directory.descriptor)
    }

    private func next(_ listing: Descriptor) throws(VaultError) -> [DirectoryEntry] {
        try backing { () throws(Errno) in try store.nextEntries(of: listing) }
    }

    /// The next entries that are not directories, perhaps none; directories are added to the level. Nil at the end.
    private func nextEntries(_ level: inout Level) -> [DirectoryEntry]? {
        guard let listing = level.listing, let folder = level.folder else { return nil }
        let entries: [DirectoryEntry]
        do throws(VaultError) { entries = try next(listing) } catch {
            report(error, .unreadable, "the folder cannot be listed", at: Spot(treePath: level.treePath))
            return nil
        }
        guard !entries.isEmpty else { return nil }
        var others: [DirectoryEntry] = []
        others.reserveCapacity(entries.count)
        for var entry in entries {
            if entry.kind == nil {
                let status = try? store.status(of: entry.name, in: folder.directory.descriptor)
                entry.kind = status?.kind
            }
            if entry.kind == .directory, isEntry(entry.name) {
                level.folders.append(entry)
            } else {
                others.append(entry)
            }
        }
        // Roughly the order of their inodes on the disk, unlike a listing in the order of hashes.
        return others.sorted { $0.inode < $1.inode }
    }

    private func isEntry(_ name: Name) -> Bool {
        switch BackingName(name.bytes) {
        case .entry, .longEntry: true
        case .reserved, .temporary, .sidecar, .foreign: false
        }
    }
}

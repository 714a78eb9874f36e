import Crypto
import Format
import Posix
import Store
import Vault

/// A directory under check.
final class CheckedFolder: Sendable {
    let directory: Directory
    let treePath: TreePath
    /// Its part of the whole, for the progress.
    let share: UInt64

    init(_ directory: Directory, _ treePath: TreePath, share: UInt64) {
        self.directory = directory
        self.treePath = treePath
        self.share = share
    }
}

/// One thread of a check, with memory of its own for blocks.
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

    /// One directory on the way down: the listing, as far as it was read.
    private struct Level {
        /// Nil once it was let go: it is opened anew by its name when the walk comes back.
        var folder: CheckedFolder?
        let treePath: TreePath
        /// Nil at its end.
        var listing: Descriptor?
        /// What one entry is of the whole.
        let part: UInt64
        var folders: [DirectoryEntry] = []

        /// Nothing is left in it, so it need not be opened anew.
        var isDone: Bool { folder == nil && listing == nil && folders.isEmpty }
    }

    /// Checks a directory and all that is below it, without recursion, and with as many descriptors as there may be: of
    /// a deep tree the first and the last directories are open.
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

    /// Closes a directory that the walk will come back to: what is left of its listing is looked at before.
    private func closeLevel(_ level: Int, _ levels: inout [Level]) {
        guard let folder = levels[level].folder else { return }
        while let more = nextEntries(&levels[level]), !check.isCancelled {
            check(more, in: folder, part: levels[level].part)
        }
        levels[level].listing = nil
        levels[level].folder = nil
    }

    /// The directory of a level, opened anew from the nearest one above it that is open, which the first always is.
    ///
    /// The levels right above it are opened with it, for the walk comes back to them next: so a tree of n levels takes
    /// n times n / `mostOpen` openings at most.
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

    /// A listing has an offset, so it is an open file of its own.
    private func open(_ folder: CheckedFolder) throws(VaultError) -> Descriptor {
        try vault.openFolder(.current, in: folder.directory.descriptor)
    }

    private func next(_ listing: Descriptor) throws(VaultError) -> [DirectoryEntry] {
        try backing { () throws(Errno) in try store.nextEntries(of: listing) }
    }

    /// The next entries that are no directories, perhaps none; the directories among them wait in the level. Nil at the
    /// end.
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
        // About the order in which they lie on the disk, which a listing by hashes is not.
        return others.sorted { $0.inode < $1.inode }
    }

    private func isEntry(_ name: Name) -> Bool {
        switch BackingName(name.bytes) {
        case .entry, .longEntry: true
        case .reserved, .temporary, .sidecar, .foreign: false
        }
    }
}

import Format
import Glibc
import Posix
import Store

/// A walk through a folder and everything below it, without recursion.
struct RotationWalk {
    private let rotation: KeyRotation
    private var vault: Vault { rotation.vault }

    /// How many folders on the path stay open.
    private static let mostOpen = 64

    init(_ rotation: KeyRotation) { self.rotation = rotation }

    private struct Level {
        /// Nil once it was closed; it is opened again by its name when the walk comes back.
        var directory: Directory?
        let walkPath: WalkPath?
        var folders: [Name]
        /// The share of one folder in the whole walk.
        let share: Double
    }

    /// False if it must stop.
    func walk(from top: Directory, _ walkPath: WalkPath?) -> Bool {
        var levels: [Level] = []
        guard descend(into: top, walkPath, share: 1, &levels) else { return false }
        while let last = levels.indices.last {
            guard !rotation.mustStop else { return false }
            guard let name = levels[last].folders.popLast() else {
                levels.removeLast()
                continue
            }
            let inner = WalkPath(name, in: levels[last].walkPath)
            do throws(VaultError) {
                let folder = try rotation.open(name, in: directory(of: last, &levels))
                guard descend(into: folder, inner, share: levels[last].share, &levels) else { return false }
                if levels.count > Self.mostOpen { levels[levels.count - Self.mostOpen].directory = nil }
            } catch { guard rotation.fail(error, inner) else { return false } }
        }
        return true
    }

    /// The directory of a level, opened again from the nearest open one above it. The first one is always open.
    private func directory(of level: Int, _ levels: inout [Level]) throws(VaultError) -> Directory {
        var open = level
        while open > 0, levels[open].directory == nil { open -= 1 }
        guard var directory = levels[open].directory else { throw .system(.ESTALE) }
        for next in open..<level {
            // If a folder was renamed meanwhile, the rename has been noted, and the walk looks at it later.
            directory = try rotation.open(levels[next + 1].walkPath!.name, in: directory)
        }
        levels[level].directory = directory
        return directory
    }

    /// Looks at the files of a folder, and lists the folders in it.
    private func descend(
        into directory: Directory, _ walkPath: WalkPath?, share: Double, _ levels: inout [Level]
    ) -> Bool {
        var folders: [Name] = []
        let before = rotation.progress.files
        do throws(VaultError) {
            let listing = try vault.openListing(of: directory.descriptor)
            while true {
                let entries = try backing { () throws(Errno) in try vault.store.nextEntries(of: listing) }
                if entries.isEmpty { break }
                // Roughly the order of their inodes on the disk.
                for entry in entries.sorted(by: { $0.inode < $1.inode }) {
                    guard !rotation.mustStop else { return false }
                    guard look(at: entry, in: directory, walkPath, &folders) else { return false }
                }
            }
        } catch { guard rotation.fail(error, walkPath) else { return false } }
        // The files count as one more folder.
        let hasFiles = rotation.progress.files > before
        let share = share / Double(folders.count + (hasFiles || folders.isEmpty ? 1 : 0))
        if hasFiles || folders.isEmpty { rotation.advance(by: share) }
        levels.append(Level(directory: directory, walkPath: walkPath, folders: folders, share: share))
        return true
    }

    private func look(
        at entry: DirectoryEntry, in directory: Directory, _ walkPath: WalkPath?, _ folders: inout [Name]
    ) -> Bool {
        var isOthers = false
        switch BackingName(entry.name.bytes) {
        case .reserved, .temporary, .sidecar: return true
        case .entry, .longEntry: break
        case .foreign: isOthers = true
        }
        let kind: FileKind?
        do throws(VaultError) { kind = try self.kind(of: entry, in: directory.descriptor) } catch {
            return rotation.fail(error, WalkPath(entry.name, in: walkPath))
        }
        guard kind == .regular || kind == .directory else { return true }
        guard let name = vault.plainName(of: entry.name, in: directory) else {
            return lookAtForeign(
                entry.name, isFolder: kind == .directory, isOthers: isOthers, in: directory.descriptor, depth: 0)
        }
        if kind == .directory {
            folders.append(name)
            return true
        }
        return rotation.look(at: name, in: directory, WalkPath(name, in: walkPath))
    }

    /// Nil if the entry was removed.
    private func kind(of entry: DirectoryEntry, in folder: Descriptor) throws(VaultError) -> FileKind? {
        if let kind = entry.kind { return kind }
        do throws(Errno) { return try vault.store.status(of: entry.name, in: folder).kind } catch {
            guard error == .ENOENT else { throw .system(error) }
            return nil
        }
    }

    /// Renews files under a foreign name, such as a synchronisation program's copy: the user may want to read them once
    /// they have their names back.
    ///
    /// - Parameter isOthers: the outermost name does not have the form of one of the vault's.
    private func lookAtForeign(
        _ name: Name, isFolder: Bool, isOthers: Bool, in folder: Descriptor, depth: Int
    ) -> Bool {
        let walkPath = WalkPath(name, in: nil)
        do throws(VaultError) {
            guard isFolder else {
                rotation.count(try vault.renewForeignWrap(of: name, in: folder))
                return true
            }
            guard depth < 32 else { throw .system(.ENAMETOOLONG) }
            let opened = try vault.withOwnerPermissions(0o500, of: .entry(name, in: folder)) {
                () throws(VaultError) in try vault.openFolder(name, in: folder)
            }
            let inner = try vault.openListing(of: opened)
            let entries = try backing { () throws(Errno) in try vault.store.entries(of: inner) }
            for entry in entries {
                guard !rotation.mustStop else { return false }
                let kind = try kind(of: entry, in: inner)
                guard kind == .regular || kind == .directory else { continue }
                guard
                    lookAtForeign(
                        entry.name, isFolder: kind == .directory, isOthers: isOthers, in: inner, depth: depth + 1)
                else { return false }
            }
        } catch {
            // Such as a file system's lost+found, which never was the daemon's.
            if isOthers, error == .system(.EACCES) || error == .system(.EPERM), !vault.isOwn(name, in: folder) {
                return true
            }
            return rotation.fail(error, walkPath)
        }
        return true
    }
}

extension Vault {
    /// Whether the daemon has the owner's rights for an entry.
    fileprivate func isOwn(_ name: Name, in folder: Descriptor) -> Bool {
        options.isPrivileged || (try? store.status(of: name, in: folder).owner) == geteuid()
    }

    /// Opens a folder to list it on the vault's own behalf: its time of access does not move.
    fileprivate func openListing(of folder: Descriptor) throws(VaultError) -> Descriptor {
        try withOwnerPermissions(0o500, of: .file(folder)) { () throws(VaultError) in
            do throws(Errno) {
                return try store.open(.current, in: folder, OpenFlags.directory | O_NOATIME, mode: 0)
            } catch {
                guard error == .EPERM else { throw .system(error) }
                return try openFolder(.current, in: folder)
            }
        }
    }
}

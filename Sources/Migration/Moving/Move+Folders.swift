import Posix
import Vault

extension Move {
    /// What a folder has now: it may have been changed since it was recorded. Its times are those of before, and so is
    /// its mode if this program has opened it up.
    private func present(_ record: Metadata, of folder: Source.Folder) throws(VaultError) -> Metadata {
        var metadata = try source.metadata(of: .folder(folder))
        (metadata.accessed, metadata.modified) = (record.accessed, record.modified)
        if metadata.permissions == record.permissions | 0o700 { metadata.permissions = record.permissions }
        return metadata
    }

    private func give(_ metadata: Metadata, to folder: Destination.Folder, _ path: TreePath) throws(MigrationError) {
        do throws(VaultError) {
            if try destination.metadata(of: .folder(folder)) == metadata { return }
            try destination.give(metadata, to: .folder(folder))
            let made = try destination.metadata(of: .folder(folder))
            if let difference = metadata.difference(from: made) {
                throw .unseen("the \(difference) of the copy is not that of the original")
            }
        } catch {
            // Another user's, or one with the flag +i.
            guard error == .system(.EPERM) else { throw MigrationError(path, "give its attributes to", error) }
            leave(.unmovable(path.path, .EPERM))
        }
    }

    /// The folder at the destination; nil if it is not there.
    private func copy(of path: TreePath) throws(MigrationError) -> Destination.Folder? {
        var folder = destination.root
        for name in path.names {
            do throws(VaultError) { folder = try destination.openFolder(name, in: folder) } catch {
                guard error.isAbsence else { throw MigrationError(path, "open the folder", error) }
                return nil
            }
        }
        return folder
    }

    /// Gives the folders at the destination what they had, and removes the emptied originals.
    func finishFolders(_ paths: [TreePath]) throws(MigrationError) {
        for path in paths.reversed() {
            guard let record = folders[path], let pair = try pair(at: path) else { continue }
            let metadata = try wrap(path, "look at") { () throws(VaultError) in
                isUndo ? record : try present(record, of: pair.source)
            }
            try give(metadata, to: pair.destination, path)
        }
        // A program may have removed the emptied original of one, or the run before this one.
        let visited = Set(paths)
        for (path, record) in folders.all where !isUndo && !visited.contains(path) {
            if let folder = try copy(of: path) { try give(record, to: folder, path) }
        }
        try wrap(nil, "make folders durable") { () throws(VaultError) in try destination.flushAll() }
        if options.removesOriginals { try removeFolders(paths) }
    }

    /// Removes the emptied originals, the deepest first. What was in them is durably gone before: on a disk that keeps
    /// no order, a crash could otherwise bring back what was in a folder, without the folder.
    private func removeFolders(_ paths: [TreePath]) throws(MigrationError) {
        let depths = Dictionary(grouping: paths) { $0.names.count }
        for depth in depths.keys.sorted(by: >) where depth > 0 {
            try wrap(nil, "make removals durable") { () throws(VaultError) in try source.flushAll() }
            for path in depths[depth, default: []] {
                guard let parent = try pair(at: TreePath(names: Array(path.names.dropLast()))) else { continue }
                let name = path.names[depth - 1]
                do throws(VaultError) { try source.removeFolder(name, in: parent.source) } catch {
                    // An entry that was left, or made meanwhile, keeps its folder.
                    guard error == .system(.ENOTEMPTY) || error == .system(.EEXIST) || error == .system(.ENOENT) else {
                        throw MigrationError(path, "remove the folder", error)
                    }
                    if let pair = try pair(at: path) { try noteStrangers(in: pair.source, path) }
                }
            }
        }
    }
}

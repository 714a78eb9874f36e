import Posix
import Vault

extension Move {
    /// Takes the originals of copies away that have their names durably.
    func takeAway(_ items: [Item]) throws(MigrationError) {
        progress.add(entries: items.reduce(0) { $0 + $1.names.count })
        for item in items where item.isFile {
            for index in item.names.indices {
                digests.note(item.path(index), before: item.digest, after: item.digestOfCopy)
            }
        }
        var kept: [[Name]] = []
        for item in items {
            let names = item.names.map { _ in Name.random() }
            for (index, name) in names.enumerated() { removals.note(item.path(index), keptAs: name) }
            kept.append(names)
        }
        do throws(Errno) {
            try digests.flush()
            guard options.removesOriginals else { return }
            try removals.flush()
        } catch { throw MigrationError(nil, "write the log of the migration", .system(error)) }
        for (item, kept) in zip(items, kept) {
            let names = item.names.map { (name: $0.name, folder: $0.pair.source) }
            let beginning = try wrap(item.path, "take away") { () throws(VaultError) in
                try source.begin(removing: names, keptAs: kept, item.original, item.status)
            }
            switch beginning {
            case .taken(let removal):
                item.removal = removal
                taken.append(item)
            case .changed: try takeBack(item, .busy(item.path.path))
            case .refused(let error): try takeBack(item, .unmovable(item.path.path, error))
            }
        }
    }

    /// Removes the originals of the batch before for good, or puts them back.
    func settleTaken() throws(MigrationError) {
        let items = taken
        taken = []
        let isGone = try wrap(items.first?.path, "remove") { () throws(VaultError) in
            try source.finish(items.compactMap(\.removal), overwriting: options.overwrites)
        }
        for (item, isGone) in zip(items, isGone) {
            item.removal = nil
            if !isGone { try takeBack(item, .busy(item.path.path)) }
            item.original = nil
            item.copy = nil
        }
    }

    /// The original stays for the next run, so its copy goes.
    private func takeBack(_ item: Item, _ event: MigrationEvent) throws(MigrationError) {
        for (name, pair) in item.placed {
            try wrap(item.path, "remove the copy of") { () throws(VaultError) in
                try destination.remove(name, in: pair.destination)
            }
        }
        try wrap(nil, "make names durable") { () throws(VaultError) in try destination.flushAll() }
        progress.add(entries: -item.names.count)
        leave(event)
    }

    /// With originals that are kept, no lease holds a program back: what was changed after it was copied is not moved.
    func noteLateChanges(since start: Timespec) throws(MigrationError) {
        var stack: [(folder: Source.Folder, copy: Destination.Folder, path: TreePath)] = [
            (source.root, destination.root, .root)
        ]
        while let (folder, copy, path) = stack.popLast() {
            try wrap(path, "look for late changes in") { () throws(VaultError) in
                for entry in try source.entries(of: folder) {
                    guard let status = try source.find(entry.name, in: folder) else { continue }
                    let path = path / entry.name
                    let there = try destination.find(entry.name, in: copy)
                    if status.kind == .directory, there?.kind == .directory {
                        let inner = try source.openFolder(entry.name, in: folder)
                        stack.append((inner, try destination.openFolder(entry.name, in: copy), path))
                    } else if there?.kind != status.kind || status.changed >= start {
                        leave(.busy(path.path))
                    }
                }
            }
        }
    }
}

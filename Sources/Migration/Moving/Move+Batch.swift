import Posix
import Vault

extension Move {
    /// Moves what a batch holds. Entries that cannot be moved now are noted and stay.
    func move(_ batch: [Item]) throws(MigrationError) {
        guard !batch.isEmpty, !outcome.isStopped else { return }
        let left = try moveOnce(batch)
        guard !left.isEmpty else { return }
        // The originals that were taken away free space only when they are gone.
        mostBytes = min(mostBytes, 16 << 20)
        try settleTaken()
        for item in left {
            item.failure = nil
            if outcome.isStopped { return }
            if let item = try moveOnce([item]).first {
                guard case .noSpace(let error)? = item.failure else { continue }
                throw MigrationError(item.path, "copy", error)
            }
            try settleTaken()
        }
    }

    /// Returns the entries for which there was no room.
    private func moveOnce(_ batch: [Item]) throws(MigrationError) -> [Item] {
        var isNamed = false
        // An error leaves no copy without a name behind; one that has a name stays.
        defer { if !isNamed { for item in batch { item.copy.map(destination.removeStaged) } } }
        inParallel(batch) { $0.copyOver() }
        let copied = try sort(batch)
        let staged = copied.filter { $0.isFile && $0.present.isEmpty }
        try wrap(nil, "make copies durable") { () throws(VaultError) in try destination.flush(staged.compactMap(\.copy))
        }
        inParallel(staged) { $0.readBack() }
        let verified = try sort(copied)
        for item in verified {
            try wrap(item.path, "give its name to") { () throws(VaultError) in try publish(item) }
        }
        isNamed = true
        try wrap(nil, "make names durable") { () throws(VaultError) in try destination.flushAll() }
        try settleTaken()
        try takeAway(verified)
        return batch.filter { if case .noSpace? = $0.failure { true } else { false } }
    }

    private func inParallel(_ items: [Item], _ body: @escaping @Sendable (Stage<Source, Destination>) -> Void) {
        let (source, destination, progress, isStopped) = (source, destination, progress, isStopped)
        let threads = options.threads
        _ = items.mapInParallel(threads: threads) { item in
            body(Stage(source, destination, item, progress, isStopped))
        }
    }

    /// The entries that have not failed. Notes the others; what stops all is thrown.
    private func sort(_ items: [Item]) throws(MigrationError) -> [Item] {
        var isInterrupted = false
        for item in items {
            switch item.failure {
            case .fatal(let error, let doing): throw MigrationError(item.path, doing, error)
            case .source(.system(.EINTR)): isInterrupted = true
            default: break
            }
        }
        var good: [Item] = []
        for item in items {
            switch item.failure {
            case nil: good.append(item)
            case .busy: leave(.busy(item.path.path))
            case .source(.system(.EINTR)): break
            case .source(let error): leave(.unreadable(item.path.path, error.errno))
            case .noSpace, .fatal: break
            }
            if item.failure != nil, let copy = item.copy, item.present.isEmpty {
                destination.removeStaged(copy)
                item.copy = nil
            }
        }
        if isInterrupted { outcome.isStopped = true }
        return good
    }

    // MARK: Names

    private func publish(_ item: Item) throws(VaultError) {
        // The original has all its metadata; its copy may lack some, until its names are durable.
        let wasPresent = !item.present.isEmpty
        let isOriginal = isUndo && wasPresent
        if item.present.isEmpty {
            let (name, pair) = item.names[0]
            if item.isFile {
                guard let copy = item.copy else { throw .system(.ESTALE) }
                try withRoom(for: name, in: pair) { () throws(VaultError) in
                    try destination.publish(copy, as: name, in: pair.destination)
                }
            } else {
                let node = try node(item)
                try withRoom(for: name, in: pair) { () throws(VaultError) in
                    try destination.makeNode(node, name, in: pair.destination)
                }
            }
            item.present.insert(0)
        }
        let first = item.names[item.present.min() ?? 0]
        for index in item.names.indices where !item.present.contains(index) {
            let (name, pair) = item.names[index]
            try withRoom(for: name, in: pair) { () throws(VaultError) in
                try destination.link(first.name, in: first.pair.destination, to: name, in: pair.destination)
            }
            item.present.insert(index)
        }
        guard let metadata = item.metadata, !isOriginal else { return }
        // A staged file has had its metadata before, and they were compared.
        if item.isFile, !wasPresent { return }
        let subject: Subject<Destination> =
            if item.isFile, let copy = item.copy { .file(copy) } else { .node(first.name, in: first.pair.destination) }
        try destination.give(metadata, to: subject)
        let made = try destination.metadata(of: subject)
        if let difference = metadata.difference(from: made, isLink: item.kind == .symbolicLink) {
            throw .unseen("the \(difference) of the copy is not that of the original")
        }
    }

    /// Sets aside what has the name at the destination.
    private func withRoom(for name: Name, in pair: Pair, _ body: () throws(VaultError) -> Void) throws(VaultError) {
        do throws(VaultError) { return try body() } catch { guard error == .system(.EEXIST) else { throw error } }
        try setAside(name, in: pair)
        try body()
    }

    private func node(_ item: Item) throws(VaultError) -> Node {
        let (name, pair) = item.names[0]
        if item.kind == .symbolicLink { return .symbolicLink(target: try source.target(of: name, in: pair.source)) }
        return .special(mode: item.status.mode, device: item.status.specialDevice)
    }

    // MARK: Originals

    private func takeAway(_ items: [Item]) throws(MigrationError) {
        progress.add(entries: items.reduce(0) { $0 + $1.names.count })
        for item in items where item.isFile {
            for index in item.names.indices {
                digests.note(item.path(index), before: item.digest, after: item.digestOfCopy)
            }
        }
        var kept: [[Name]] = []
        for item in items {
            let names = item.names.map { _ in keptName() }
            for (index, name) in names.enumerated() where item.isFile { removals.note(item.path(index), keptAs: name) }
            kept.append(names)
        }
        do throws(Errno) {
            try digests.flush()
            guard options.removesOriginals else { return }
            try removals.flush()
        } catch { throw MigrationError(nil, "write the log of the migration", .system(error)) }
        for (item, kept) in zip(items, kept) {
            let names = item.names.map { (name: $0.name, folder: $0.pair.source) }
            item.removal = try wrap(item.path, "take away") { () throws(VaultError) in
                try source.begin(removing: names, keptAs: kept, item.original, item.status)
            }
            if item.removal == nil { try takeBack(item) } else { taken.append(item) }
        }
    }

    /// Removes the originals of the batch before for good, or puts them back.
    func settleTaken() throws(MigrationError) {
        let items = taken
        taken = []
        for item in items {
            guard let removal = item.removal else { continue }
            let isGone = try wrap(item.path, "remove") { () throws(VaultError) in try source.finish(removal) }
            item.removal = nil
            if !isGone { try takeBack(item) }
            item.original = nil
            item.copy = nil
        }
    }

    /// The original was written to: its copy goes, and it stays for the next run.
    private func takeBack(_ item: Item) throws(MigrationError) {
        for (name, pair) in item.names {
            try wrap(item.path, "remove the copy of") { () throws(VaultError) in
                try destination.remove(name, in: pair.destination)
            }
        }
        try wrap(nil, "make names durable") { () throws(VaultError) in try destination.flushAll() }
        leave(.busy(item.path.path))
    }
}

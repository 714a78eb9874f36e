import Posix
import Vault

extension Move {
    /// Moves what a batch holds. Entries that cannot be moved now are noted and stay.
    func move(_ batch: [Item]) throws(MigrationError) {
        groupPairs = [:]
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
        // Two large files need the space of one.
        if taken.reduce(Int64(0), { $0 + min($1.status.size, mostBytes) }) >= mostBytes { try settleTaken() }
        // An error leaves no copy without a name behind; one that has a name stays.
        defer { for item in batch { removeStaged(item) } }
        inParallel(batch) { $0.copyOver() }
        let copied = try sort(batch)
        let staged = copied.filter { $0.isFile && $0.present.isEmpty }
        for item in copied where !item.isFile && item.present.isEmpty {
            guard let node = item.node, let metadata = item.metadata else { continue }
            do throws(VaultError) { item.stagedNode = try destination.stage(node, metadata) } catch {
                guard error == .system(.EPERM) else { throw MigrationError(item.path, "copy", error) }
                item.failure = .refused(.EPERM)
            }
        }
        let prepared = try sort(copied)
        try wrap(nil, "make copies durable") { () throws(VaultError) in
            try destination.flush(staged.compactMap(\.copy), hasNodes: copied.contains { $0.stagedNode != nil })
        }
        inParallel(staged) { $0.readBack() }
        let verified = try sort(prepared)
        for item in verified {
            try wrap(item.path, "give its name to") { () throws(VaultError) in try publish(item) }
        }
        try wrap(nil, "make names durable") { () throws(VaultError) in try destination.flushAll() }
        try settleTaken()
        try takeAway(verified)
        return batch.filter { if case .noSpace? = $0.failure { true } else { false } }
    }

    private func removeStaged(_ item: Item) {
        guard item.placed.isEmpty, item.present.isEmpty else { return }
        item.copy.map(destination.removeStaged)
        item.stagedNode.map(destination.removeStaged)
        (item.copy, item.stagedNode) = (nil, nil)
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
        for item in items {
            if case .fatal(let error, let doing)? = item.failure { throw MigrationError(item.path, doing, error) }
        }
        var good: [Item] = []
        for item in items {
            switch item.failure {
            case nil: good.append(item)
            case .busy: leave(.busy(item.path.path))
            case .source(.system(.EINTR)): outcome.isStopped = true
            case .source(let error): leave(.unreadable(item.path.path, error.errno))
            case .refused(let error): leave(.unmovable(item.path.path, error))
            case .noSpace, .fatal: break
            }
            if item.failure != nil { removeStaged(item) }
        }
        return good
    }
}

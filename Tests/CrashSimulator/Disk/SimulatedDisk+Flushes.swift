import TestStores

// The changes that a flush makes durable.

extension SimulatedDisk {
    mutating func persist(_ inode: RecordedInode, dataOnly: Bool) {
        let isDirectory = durable.inodes[inode]?.kind == .directory
        switch order {
        case .ordered: persistMetadata(upTo: lastChange(seenBy: inode, dataOnly: dataOnly))
        case .unordered:
            persistMetadata { change in
                switch change.kind {
                case .inode(inode, .stamp): !dataOnly
                case .inode(inode, _): true
                default: false
                }
            }
            if isDirectory { persistEntries(of: inode) }
        }
        persistContents(of: inode)
    }

    /// The number of pending changes that a flush of the inode makes durable, in a file system that keeps their order.
    private func lastChange(seenBy inode: RecordedInode, dataOnly: Bool) -> Int {
        // The new length is part of a transaction that holds everything before it.
        if files[inode]?.changesSize ?? false { return pending.count }
        let last = pending.lastIndex { change in
            guard dataOnly else { return change.inodes.contains(inode) }
            // The inode itself must be durable for its data to be found; its other metadata need not be.
            if case .names(.add(_, inode)) = change.kind { return true }
            return false
        }
        return last.map { $0 + 1 } ?? 0
    }

    mutating func persistEverything() {
        persistMetadata(upTo: pending.count)
        for file in files.keys { persistContents(of: file) }
    }

    private mutating func persistContents(of file: RecordedInode) {
        guard let contents = files.removeValue(forKey: file) else { return }
        durable.inodes[file]!.bytes = contents.contents(of: contents.all)
    }

    private mutating func persistMetadata(upTo count: Int) {
        for change in pending[..<count] { persist(change) }
        pending.removeFirst(count)
    }

    private mutating func persistMetadata(where isDue: (MetadataChange) -> Bool) {
        for change in pending where isDue(change) { persist(change) }
        pending.removeAll(where: isDue)
    }

    private mutating func persist(_ change: MetadataChange) {
        switch change.kind {
        case .names(let change):
            let happened = durable.apply(change)
            precondition(happened, "became durable without what it builds on: \(change)")
        case .inode(let inode, let change): durable.apply(change, to: inode)
        case .resize(let file, let step): files[file]?.persisted = step
        }
    }

    /// The entries of a directory, and the changes that they depend on: earlier changes of the same names, and those
    /// that emptied a removed directory.
    private mutating func persistEntries(of directory: RecordedInode) {
        var due: Set<Int> = []
        var slots: Set<Slot> = []
        var directories: Set<RecordedInode> = [directory]
        for index in pending.indices.reversed() {
            guard case .names(let change) = pending[index].kind else { continue }
            guard change.slots.contains(where: { slots.contains($0) || directories.contains($0.directory) }) else {
                continue
            }
            due.insert(index)
            slots.formUnion(change.slots)
            if let removed = change.removed { directories.insert(removed) }
        }
        for index in due.sorted() { persist(pending[index]) }
        pending = pending.indices.filter { !due.contains($0) }.map { pending[$0] }
    }
}

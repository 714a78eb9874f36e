import TestStores

/// What a crash has let reach the disk of all that is pending.
struct CrashChoice: Hashable, Sendable {
    /// Whether each pending change of metadata has happened.
    var metadata: [Bool]
    /// Of each file with pending contents; in the order of `SimulatedDisk.pendingFiles`.
    var contents: [PendingContents.Choice]
}

extension SimulatedDisk {
    /// Files with pending contents, in an order.
    var pendingFiles: [RecordedInode] { files.keys.sorted { $0.number < $1.number } }

    /// What the disk holds after a crash now.
    func image(of choice: CrashChoice) -> DiskImage {
        var image = durable
        for (change, happened) in zip(pending, choice.metadata) where happened {
            switch change.kind {
            case .names(let change): image.apply(change)
            case .inode(let inode, let change): image.apply(change, to: inode)
            // The choice of the file's length says so too.
            case .resize: break
            }
        }
        for (file, chosen) in zip(pendingFiles, choice.contents) {
            image.inodes[file]!.bytes = files[file]!.contents(of: chosen)
        }
        return image
    }

    /// What the running system sees: all of it has happened.
    public var current: DiskImage {
        let everything = CrashChoice(
            metadata: pending.map { _ in true }, contents: pendingFiles.map { files[$0]!.all })
        return image(of: everything)
    }

    /// Which lengths a file can have where these changes of metadata have happened: numbers of steps.
    func lengths(of file: RecordedInode, _ metadata: [Bool]) -> [Int] {
        let contents = files[file]!
        guard order == .ordered else {
            return contents.lengths(from: contents.persisted, through: contents.steps.count)
        }
        var first = contents.persisted
        for (change, happened) in zip(pending, metadata) {
            guard case .resize(file, let step) = change.kind else { continue }
            if !happened { return contents.lengths(from: first, through: step - 1) }
            first = step
        }
        return contents.lengths(from: first, through: contents.steps.count)
    }

    /// Pending changes of which the later one leaves nothing of the earlier one.
    var replacements: [(earlier: Int, later: Int)] {
        var last: [InodeChange.Target: Int] = [:]
        var pairs: [(earlier: Int, later: Int)] = []
        for (index, change) in pending.enumerated() {
            guard case .inode(let inode, let change) = change.kind, let target = change.target(in: inode) else {
                continue
            }
            if let earlier = last.updateValue(index, forKey: target) { pairs.append((earlier, index)) }
        }
        return pairs
    }
}

extension InodeChange {
    /// What a change sets.
    struct Target: Hashable {
        let inode: RecordedInode
        /// Of an attribute.
        let name: String?
    }

    /// Nil for a change that may leave something of the one before.
    fileprivate func target(in inode: RecordedInode) -> Target? {
        switch self {
        case .attribute(let name, _): Target(inode: inode, name: name)
        case .stamp: Target(inode: inode, name: nil)
        case .mode, .owner: nil
        }
    }
}

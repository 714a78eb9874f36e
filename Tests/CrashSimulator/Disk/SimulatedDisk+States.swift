import TestStores

/// The part of the pending changes that reached the disk before a crash.
struct CrashChoice: Hashable, Sendable {
    /// Whether each pending change of metadata has happened.
    var metadata: [Bool]
    /// One for each file with pending contents, in the order of `SimulatedDisk.pendingFiles`.
    var contents: [PendingContents.Choice]
}

extension SimulatedDisk {
    /// Files with pending contents, in a fixed order.
    var pendingFiles: [RecordedInode] { files.keys.sorted { $0.number < $1.number } }

    /// The disk's contents after a crash at this moment.
    func image(of choice: CrashChoice) -> DiskImage {
        var image = durable
        for (change, happened) in zip(pending, choice.metadata) where happened {
            switch change.kind {
            case .names(let change): image.apply(change)
            case .inode(let inode, let change): image.apply(change, to: inode)
            // The choice of the file's length decides this too.
            case .resize: break
            }
        }
        for (file, chosen) in zip(pendingFiles, choice.contents) {
            image.inodes[file]!.bytes = files[file]!.contents(of: chosen)
        }
        return image
    }

    /// The disk as the running system sees it: everything has happened.
    public var current: DiskImage {
        let everything = CrashChoice(
            metadata: pending.map { _ in true }, contents: pendingFiles.map { files[$0]!.all })
        return image(of: everything)
    }

    /// The lengths, as numbers of steps, that a file can have where these changes of metadata have happened.
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

    /// Pairs of pending changes in which the later one overwrites the earlier one completely.
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
    /// The object that a change sets.
    struct Target: Hashable {
        let inode: RecordedInode
        /// The name of an attribute.
        let name: String?
    }

    /// Nil for a change that may leave a part of the change before it.
    fileprivate func target(in inode: RecordedInode) -> Target? {
        switch self {
        case .attribute(let name, _): Target(inode: inode, name: name)
        case .stamp: Target(inode: inode, name: nil)
        case .mode, .owner: nil
        }
    }
}

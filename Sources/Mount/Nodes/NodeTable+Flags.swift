import Format
import Synchronization

extension NodeTable {
    /// Changes what a glance shows of a node: its file and handles, its class, whether it may have pages.
    func update<Result: Sendable, Failure: Error>(
        _ node: Node, _ body: (inout Node.State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try node.state.withLock { (state) throws(Failure) in
            defer { note(NodeFlags(state), of: node) }
            return try body(&state)
        }
    }

    /// The same, unless somebody holds the state's lock: then nil.
    func updateIfAvailable(_ node: Node, _ body: (inout Node.State) -> Void) -> Void? {
        node.state.withLockIfAvailable { state in
            defer { note(NodeFlags(state), of: node) }
            body(&state)
        }
    }

    /// The file's key is gone, and its last user has yet to write what is to be written. Within an `update` of the
    /// node, whose end shows that this is over.
    func noteClosing(of node: Node, _ state: borrowing Node.State) {
        note(NodeFlags(state).closing, of: node)
    }

    /// Needs the node's state.
    private func note(_ new: NodeFlags, of node: Node) {
        let old = node.flags.exchange(new, ordering: .sequentiallyConsistent)
        if old.openClass != new.openClass { openCounts.move(from: old.openClass, to: new.openClass) }
    }

    /// How many files of each class are open. Waits for nobody.
    var openFiles: [ProtectionClass: Int] { openCounts.counts.withLock { $0 } }

    /// The classes of files that are open, by their inode numbers; nil for what is no open file. Waits for nobody.
    func classes(ofInodes inodes: [UInt64]) -> [ProtectionClass?] {
        // All at once, unlinked ones too: those are not found by their inodes any more.
        var classes: [UInt64: ProtectionClass] = [:]
        for node in open { classes[node.backing.inode] = node.flags.load(ordering: .relaxed).openClass }
        return inodes.map { classes[$0] }
    }
}

/// How many files of each class are open.
final class OpenFileCounts: Sendable {
    /// A leaf: nothing else is locked under it.
    fileprivate let counts = Mutex(Dictionary(uniqueKeysWithValues: ProtectionClass.allCases.map { ($0, 0) }))

    fileprivate func move(from old: ProtectionClass?, to new: ProtectionClass?) {
        counts.withLock { counts in
            if let old { counts[old]! -= 1 }
            if let new { counts[new]! += 1 }
        }
    }
}

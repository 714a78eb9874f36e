import Format
import Synchronization

extension NodeTable {
    /// Changes the fields of a node that its flags copy: its file and handles, its class, whether it may have pages.
    func update<Result: Sendable, Failure: Error>(
        _ node: Node, _ body: (inout Node.State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try node.state.withLock { (state) throws(Failure) in
            defer { note(NodeFlags(state), of: node) }
            return try body(&state)
        }
    }

    /// As `update`, but returns nil if another thread holds the state's lock.
    func updateIfAvailable(_ node: Node, _ body: (inout Node.State) -> Void) -> Void? {
        node.state.withLockIfAvailable { state in
            defer { note(NodeFlags(state), of: node) }
            body(&state)
        }
    }

    /// The file's key is wiped, and its last user has yet to write what must be written. Called within an `update` of
    /// the node, whose end clears the mark.
    func noteClosing(of node: Node, _ state: borrowing Node.State) {
        note(NodeFlags(state).closing, of: node)
    }

    /// Needs the node's state.
    private func note(_ new: NodeFlags, of node: Node) {
        let old = node.flags.exchange(new, ordering: .sequentiallyConsistent)
        if old.openClass != new.openClass { openCounts.move(from: old.openClass, to: new.openClass) }
    }

    /// The number of open files of each class. Does not wait for requests.
    var openFiles: [ProtectionClass: Int] { openCounts.counts.withLock { $0 } }

    /// The classes of open files, by their inode numbers; nil if no open file has the number. Does not wait for
    /// requests.
    func classes(ofInodes inodes: [UInt64]) -> [ProtectionClass?] {
        // All open nodes, including unlinked ones, which can no longer be found by their inodes.
        var classes: [UInt64: ProtectionClass] = [:]
        for node in open { classes[node.backing.inode] = node.flags.load(ordering: .relaxed).openClass }
        return inodes.map { classes[$0] }
    }
}

/// The number of open files of each class.
final class OpenFileCounts: Sendable {
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    fileprivate let counts = Mutex(Dictionary(uniqueKeysWithValues: ProtectionClass.allCases.map { ($0, 0) }))

    fileprivate func move(from old: ProtectionClass?, to new: ProtectionClass?) {
        counts.withLock { counts in
            if let old { counts[old]! -= 1 }
            if let new { counts[new]! += 1 }
        }
    }
}

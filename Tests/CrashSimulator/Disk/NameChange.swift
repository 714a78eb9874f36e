public import Posix
public import TestStores

/// A name in a directory, whether it exists or not.
public struct Slot: Hashable, Sendable {
    public let name: Name
    public let directory: RecordedInode

    public init(_ name: Name, in directory: RecordedInode) {
        self.name = name
        self.directory = directory
    }
}

/// A change of names, together with the inodes that it changed when it happened. The same rename, applied when the name
/// leads to another file, is another change.
public enum NameChange: Hashable, Sendable {
    /// Of a new inode, or a link to an existing one.
    case add(Slot, RecordedInode)
    case remove(Slot, RecordedInode)
    case move(Slot, to: Slot, RecordedInode, Replacement)
    case exchange(Slot, RecordedInode, with: Slot, RecordedInode)

    /// What a rename does to the file at the new name.
    public enum Replacement: Hashable, Sendable {
        case forbidden
        /// Replacing is allowed, and there was nothing to replace.
        case allowed
        case happened(RecordedInode)
    }

    /// The names that the change touches.
    public var slots: [Slot] {
        switch self {
        case .add(let slot, _), .remove(let slot, _): [slot]
        case .move(let old, let new, _, _), .exchange(let old, _, let new, _): [old, new]
        }
    }

    /// The inodes that get or lose the names.
    public var inodes: [RecordedInode] {
        switch self {
        case .add(_, let inode), .remove(_, let inode): [inode]
        case .move(_, _, let inode, .happened(let replaced)): [inode, replaced]
        case .move(_, _, let inode, _): [inode]
        case .exchange(_, let inode, _, let other): [inode, other]
        }
    }

    /// The inode that loses a name for good: a directory must be empty for that.
    var removed: RecordedInode? {
        switch self {
        case .remove(_, let inode), .move(_, _, _, .happened(let inode)): inode
        default: nil
        }
    }
}

extension DiskImage {
    public subscript(slot: Slot) -> RecordedInode? {
        get { inodes[slot.directory]?.entries[slot.name] }
        set { inodes[slot.directory]?.entries[slot.name] = newValue }
    }

    /// Applies a change of names if it is possible in this state; returns whether it was.
    @discardableResult
    public mutating func apply(_ change: NameChange) -> Bool {
        switch change {
        case .add(let slot, let inode):
            guard self[slot] == nil else { return false }
            self[slot] = inode
        case .remove(let slot, let inode):
            guard self[slot] == inode, isEmptyIfDirectory(inode) else { return false }
            self[slot] = nil
        case .move(let old, let new, let inode, let replacement):
            guard self[old] == inode else { return false }
            if let target = self[new] {
                guard replacement != .forbidden, target != inode, isEmptyIfDirectory(target) else { return false }
            }
            self[old] = nil
            self[new] = inode
        case .exchange(let one, let inode, let other, let otherInode):
            guard self[one] == inode, self[other] == otherInode else { return false }
            self[one] = otherInode
            self[other] = inode
        }
        return true
    }

    private func isEmptyIfDirectory(_ inode: RecordedInode) -> Bool { inodes[inode]?.entries.isEmpty ?? true }
}

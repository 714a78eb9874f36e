import Glibc
public import Posix

/// One call to a store, as an `Interceptor` sees it.
public enum Operation: Sendable {
    /// May change the store, by O_CREAT or O_TRUNC.
    case open(Name, in: Descriptor, flags: Int32, mode: UInt32)
    case change(Change<Descriptor>)
    /// Any call that changes nothing.
    case inspect(Kind)

    /// The method of `Store`; methods of one name are one kind.
    public enum Kind: Hashable, Sendable, CaseIterable {
        case open, status, read, noteAccess, nextData, nextHole, write, truncate, allocate, synchronize, synchronizeAll
        case rename, link, unlink, removeDirectory, makeDirectory, makeNode, makeSymbolicLink, readSymbolicLink
        case entries, setMode, setOwner, setTimes
        case attribute, setAttribute, removeAttribute, attributeNames, statistics, lockExclusively, lock
        case obstacle
    }

    public var kind: Kind {
        switch self {
        case .open, .change(.create): .open
        case .inspect(let kind): kind
        case .change(.write): .write
        case .change(.truncate): .truncate
        case .change(.allocate): .allocate
        case .change(.synchronize): .synchronize
        case .change(.synchronizeAll): .synchronizeAll
        case .change(.rename): .rename
        case .change(.link): .link
        case .change(.unlink): .unlink
        case .change(.removeDirectory): .removeDirectory
        case .change(.makeDirectory): .makeDirectory
        case .change(.makeNode): .makeNode
        case .change(.makeSymbolicLink): .makeSymbolicLink
        case .change(.setMode): .setMode
        case .change(.setOwner): .setOwner
        case .change(.setTimes): .setTimes
        case .change(.setAttribute): .setAttribute
        case .change(.removeAttribute): .removeAttribute
        }
    }

    /// Whether the call may change the store or makes changes durable.
    public var isChange: Bool {
        switch self {
        case .open(_, _, let flags, _): flags & (O_CREAT | O_TRUNC) != 0
        case .change: true
        case .inspect: false
        }
    }

    /// Whether a full disk may refuse it: it may need a block, an inode, or room in a directory.
    public var takesSpace: Bool {
        switch self {
        case .open(_, _, let flags, _): flags & O_CREAT != 0
        case .change(.create), .change(.write), .change(.allocate), .change(.rename), .change(.link): true
        case .change(.makeDirectory), .change(.makeNode), .change(.makeSymbolicLink), .change(.setAttribute): true
        case .change, .inspect: false
        }
    }
}

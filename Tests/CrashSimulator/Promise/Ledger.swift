public import Format
import Posix
public import TestStores

/// The protection of a file or directory.
public struct Protection: Hashable, Sendable {
    public var protectionClass: ProtectionClass
    public var isExplicit: Bool

    public init(_ protectionClass: ProtectionClass, isExplicit: Bool) {
        self.protectionClass = protectionClass
        self.isExplicit = isExplicit
    }
}

/// A change that a program asked of a vault and that the vault acknowledged, with the range of the store's records in
/// which it happened.
///
/// The files and directories of the plain tree are named by `RecordedInode` as well; these numbers are independent of
/// those of the store's records.
public struct Ledger: Sendable {
    public enum Act: Sendable {
        case makeFile(Slot, RecordedInode, Protection)
        case makeDirectory(Slot, RecordedInode, Protection)
        case makeSymbolicLink(Slot, RecordedInode, target: [UInt8])
        case link(Slot, RecordedInode)
        case remove(Slot, RecordedInode)
        /// With the class that the file takes over from a file that it replaces, if it does.
        case rename(Slot, to: Slot, RecordedInode, replacing: RecordedInode?, taking: Protection?)
        case exchange(Slot, RecordedInode, with: Slot, RecordedInode)
        case write(RecordedInode, [UInt8], at: Int)
        case truncate(RecordedInode, to: Int)
        /// A change of contents failed half-way: the file's contents since.
        case found(RecordedInode, [UInt8])
        case protect(RecordedInode, Protection)
        /// Includes the names that a file has got or lost since it was made, unless it is fdatasync(2).
        case synchronize(RecordedInode, dataOnly: Bool = false)
        case synchronizeAll
    }

    public struct Entry: Sendable {
        public let act: Act
        /// The number of records when the act was asked for, and when it was acknowledged.
        public let begin: Int
        public let end: Int
    }

    public private(set) var entries: [Entry] = []
    func identifier(of inode: RecordedInode) -> FileIdentifier? { identifiers[inode] }

    /// Maps the identifiers in the vault to the ledger's files.
    public private(set) var files: [FileIdentifier: RecordedInode] = [:]
    private var identifiers: [RecordedInode: FileIdentifier] = [:]
    public private(set) var directories: [DirectoryIdentifier: RecordedInode] = [:]
    private var next = 1

    public init(root: DirectoryIdentifier) {
        directories[root] = .root
    }

    public mutating func append(_ act: Act, from begin: Int, to end: Int) {
        entries.append(Entry(act: act, begin: begin, end: end))
    }

    public mutating func number(_ file: FileIdentifier) -> RecordedInode {
        let inode = number()
        files[file] = inode
        identifiers[inode] = file
        return inode
    }

    public mutating func number(_ directory: DirectoryIdentifier) -> RecordedInode {
        let inode = number()
        directories[directory] = inode
        return inode
    }

    public mutating func number() -> RecordedInode {
        defer { next += 1 }
        return RecordedInode(number: next)
    }
}

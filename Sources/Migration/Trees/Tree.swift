import Posix
import Vault

/// One side of a migration: a folder of plain files, or the tree in a vault.
///
/// A file that is copied here is first a *staged* file, which no program finds: it gets its name only when all of it is
/// durable and has been read back. Threads may use different files and names at the same time.
protocol Tree: AnyObject, Sendable {
    associatedtype Folder: AnyObject & Sendable
    /// An open file, staged or with a name.
    associatedtype Opened: AnyObject & Sendable

    var root: Folder { get }

    // MARK: What is there

    func entries(of folder: Folder) throws(VaultError) -> [DirectoryEntry]
    /// `size` is that of the contents as programs see them.
    func status(of name: Name, in folder: Folder) throws(VaultError) -> FileStatus
    func status(of folder: Folder) throws(VaultError) -> FileStatus
    func openFolder(_ name: Name, in parent: Folder) throws(VaultError) -> Folder
    func target(of link: Name, in folder: Folder) throws(VaultError) -> [UInt8]

    /// Opens a regular file to read it. `ETXTBSY` if a program has it open for writing.
    func open(_ name: Name, in folder: Folder) throws(VaultError) -> Opened
    func status(of file: Opened) throws(VaultError) -> FileStatus
    /// Reads until the buffer is full or the file ends; returns the number of bytes.
    func read(_ file: Opened, into buffer: inout MutableRawSpan, at offset: Int64) throws(VaultError) -> Int
    /// The next range of data at or after `offset`; nil if there are only holes.
    func data(of file: Opened, from offset: Int64) throws(VaultError) -> Range<Int64>?
    /// What the file has besides its status, lists of access control among it.
    func attributes(of subject: Subject<Self>) throws(VaultError) -> [Attribute]

    // MARK: Making the copy

    /// Makes a folder that only its owner may use; opens the one that is there.
    func makeFolder(_ name: Name, in parent: Folder) throws(VaultError) -> Folder
    /// Makes an empty staged file that is to get this name.
    func stage(_ name: Name, in folder: Folder) throws(VaultError) -> Opened
    func write(_ bytes: RawSpan, to file: Opened, at offset: Int64) throws(VaultError)
    func truncate(_ file: Opened, to size: Int64) throws(VaultError)
    /// Gives owner, attributes, mode and times.
    func give(_ metadata: Metadata, to subject: Subject<Self>) throws(VaultError)
    /// Makes staged files durable, with all that was given to them.
    ///
    /// - Parameter hasNodes: there are staged nodes, too.
    func flush(_ files: [Opened], hasNodes: Bool) throws(VaultError)
    /// Lets the kernel forget what it has of the contents in memory, so that they are read from the disk.
    func dropCache(of file: Opened)
    /// Gives a staged file its name. `EEXIST` if the name is taken.
    func publish(_ file: Opened, as name: Name, in folder: Folder) throws(VaultError)
    /// Gives what has a name another one.
    func link(_ name: Name, in folder: Folder, to newName: Name, in newFolder: Folder) throws(VaultError)
    /// Makes a symbolic link, FIFO, socket or device node as a staged one; nil if it is made when it gets its name.
    func stage(_ node: Node, _ metadata: Metadata) throws(VaultError) -> Name?
    /// Makes a node, or gives a staged one its name. `EEXIST` if the name is taken.
    func publish(_ node: Node, _ staged: Name?, as name: Name, in folder: Folder) throws(VaultError)
    func removeStaged(_ node: Name)
    /// Makes everything durable: contents, metadata and names.
    func flushAll() throws(VaultError)
    func removeStaged(_ file: Opened)

    // MARK: Taking the original away

    /// Renames an entry that is in the way. `EEXIST` if the new name is taken.
    func setAside(_ name: Name, as newName: Name, in folder: Folder) throws(VaultError)
    func removeFolder(_ name: Name, in parent: Folder) throws(VaultError)
    /// Removes a name of anything but a folder.
    func remove(_ name: Name, in folder: Folder) throws(VaultError)
}

/// What has metadata in a tree.
enum Subject<Side: Tree> {
    case file(Side.Opened)
    case folder(Side.Folder)
    /// Neither a regular file nor a folder.
    case node(Name, in: Side.Folder)
}

/// An entry that is neither a regular file nor a folder.
enum Node: Hashable, Sendable {
    case symbolicLink(target: [UInt8])
    /// `mode` has the type and the permissions.
    case special(mode: UInt32, device: UInt64)
}

/// An extended attribute with its complete name.
struct Attribute: Hashable, Sendable {
    let name: [UInt8]
    let value: [UInt8]
}

/// What a copy must have besides contents and names.
struct Metadata: Hashable, Sendable {
    var permissions: UInt32
    var owner: UInt32
    var group: UInt32
    var accessed: Timespec
    var modified: Timespec
    /// In the order of their names.
    var attributes: [Attribute]

    init(
        permissions: UInt32, owner: UInt32, group: UInt32, accessed: Timespec, modified: Timespec,
        attributes: [Attribute]
    ) {
        self.permissions = permissions
        self.owner = owner
        self.group = group
        self.accessed = accessed
        self.modified = modified
        self.attributes = attributes.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    init(_ status: FileStatus, _ attributes: [Attribute]) {
        self.init(
            permissions: status.permissions, owner: status.owner, group: status.group, accessed: status.accessed,
            modified: status.modified, attributes: attributes)
    }

    /// The first thing in which a copy differs, for people; nil if there is none.
    func difference(from copy: Metadata, isLink: Bool = false) -> String? {
        if permissions != copy.permissions, !isLink { return "mode" }
        if owner != copy.owner || group != copy.group { return "owner" }
        if modified != copy.modified { return "time of modification" }
        if accessed != copy.accessed { return "time of access" }
        return attributes != copy.attributes ? "extended attributes" : nil
    }
}

extension Tree {
    func metadata(of subject: Subject<Self>) throws(VaultError) -> Metadata {
        let status: FileStatus
        switch subject {
        case .file(let file): status = try self.status(of: file)
        case .folder(let folder): status = try self.status(of: folder)
        case .node(let name, let folder): status = try self.status(of: name, in: folder)
        }
        return Metadata(status, try attributes(of: subject))
    }

    /// What lies under a name; nil if nothing does.
    func find(_ name: Name, in folder: Folder) throws(VaultError) -> FileStatus? {
        do throws(VaultError) { return try status(of: name, in: folder) } catch {
            guard error == .system(.ENOENT) else { throw error }
            return nil
        }
    }
}

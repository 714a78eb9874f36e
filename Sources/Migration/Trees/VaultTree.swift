import Format
import Glibc
import Posix
import Store
import Vault

/// The tree in a vault, opened in this process with the keys of all classes.
final class VaultTree: Tree {
    typealias Folder = Directory
    typealias Opened = File

    let vault: Vault
    let root: Directory
    /// The vault is the destination of an interrupted migration, which is undone.
    let isWayBack: Bool
    private let owner = (user: geteuid(), group: getegid())

    /// Begins the vault's session. The caller ends it with `vault.close()`.
    init(_ vault: Vault, isWayBack: Bool = false) throws(VaultError) {
        self.vault = vault
        self.isWayBack = isWayBack
        root = try vault.openRoot()
    }

    // MARK: What is there

    func entries(of folder: Directory) throws(VaultError) -> [DirectoryEntry] {
        try vault.entries(of: folder).map { DirectoryEntry(name: $0.name, inode: $0.inode, kind: $0.kind) }
    }

    func status(of name: Name, in folder: Directory) throws(VaultError) -> FileStatus {
        try vault.lookup(name, in: folder).status
    }

    func status(of folder: Directory) throws(VaultError) -> FileStatus { try vault.status(of: folder) }

    func openFolder(_ name: Name, in parent: Directory) throws(VaultError) -> Directory {
        try vault.openDirectory(name, in: parent)
    }

    func target(of link: Name, in folder: Directory) throws(VaultError) -> [UInt8] {
        try vault.readSymbolicLink(link, in: folder)
    }

    func open(_ name: Name, in folder: Directory) throws(VaultError) -> File {
        let file = try vault.openFile(name, in: folder)
        try file.loadKey()
        return file
    }

    func status(of file: File) throws(VaultError) -> FileStatus { try file.status() }

    func read(_ file: File, into buffer: inout MutableRawSpan, at offset: Int64) throws(VaultError) -> Int {
        try file.read(into: &buffer, at: UInt64(offset))
    }

    func data(of file: File, from offset: Int64) throws(VaultError) -> Range<Int64>? {
        guard let start = try file.next(hole: false, from: UInt64(offset)), start < file.length,
            let end = try file.next(hole: true, from: start)
        else { return nil }
        return Int64(start)..<Int64(end)
    }

    func attributes(of subject: Subject<VaultTree>) throws(VaultError) -> [Attribute] {
        guard let owner = try attributeOwner(of: subject) else { return [] }
        var attributes = try vault.attributeNames(of: owner).filter(KeptAttributes.isStored)
            .map { (name) throws(VaultError) in Attribute(name: name, value: try vault.attribute(name, of: owner)) }
        if let own = ownClass(of: subject) { attributes.append(KeptAttributes.attribute(of: own)) }
        return attributes
    }

    /// The class that was set on a file or folder itself. The root has that of the vault, which is chosen anew.
    private func ownClass(of subject: Subject<VaultTree>) -> ProtectionClass? {
        switch subject {
        case .file(let file) where file.header.protection.isExplicit: file.protectionClass
        case .folder(let folder) where folder.identifier != root.identifier && folder.record.isExplicit:
            folder.record.defaultClass
        default: nil
        }
    }

    private func setOwnClass(_ attributes: [Attribute], of subject: Subject<VaultTree>) throws(VaultError) {
        guard let wanted = attributes.compactMap(\.protectionClass).first, wanted != ownClass(of: subject) else {
            return
        }
        switch subject {
        case .file(let file): try file.setClass(wanted)
        case .folder(let folder) where folder.identifier != root.identifier:
            try vault.setDefaultClass(wanted, isExplicit: true, of: folder)
        default: break
        }
    }

    /// Nil if it can have no attributes.
    private func attributeOwner(of subject: Subject<VaultTree>) throws(VaultError) -> AttributeOwner? {
        switch subject {
        case .file(let file): .file(file)
        case .folder(let folder): .directory(folder)
        case .node(let name, let folder): vault.hasNodeAttributes ? .node(try vault.openNode(name, in: folder)) : nil
        }
    }

    // MARK: Making the copy

    func makeFolder(_ name: Name, in parent: Directory) throws(VaultError) -> Directory {
        do throws(VaultError) { return try openFolder(name, in: parent) } catch {
            guard error == .system(.ENOENT) else { throw error }
        }
        try vault.makeDirectory(name, in: parent, Ownership(mode: 0o700, user: owner.user, group: owner.group))
        return try openFolder(name, in: parent)
    }

    func stage(_ name: Name, in folder: Directory) throws(VaultError) -> File {
        try vault.createNamelessFile(
            in: folder, Ownership(mode: 0o600, user: owner.user, group: owner.group),
            try vault.classOfNewFile(name, in: folder))
    }

    func write(_ bytes: RawSpan, to file: File, at offset: Int64) throws(VaultError) {
        try file.write(bytes, at: UInt64(offset))
    }

    func truncate(_ file: File, to size: Int64) throws(VaultError) { try file.truncate(to: UInt64(size)) }

    func give(_ metadata: Metadata, to subject: Subject<VaultTree>) throws(VaultError) {
        let status: FileStatus
        switch subject {
        case .file(let file): status = try file.status()
        case .folder(let folder): status = try vault.status(of: folder)
        case .node(let name, let folder): status = try vault.status(of: name, in: folder)
        }
        if status.owner != metadata.owner || status.group != metadata.group {
            try setOwner(metadata.owner, metadata.group, of: subject)
        }
        try setOwnClass(metadata.attributes, of: subject)
        if let owner = try attributeOwner(of: subject) {
            try give(metadata.attributes.filter { $0.protectionClass == nil }, to: owner)
        }
        try setModeAndTimes(metadata, of: subject, isLink: status.kind == .symbolicLink)
    }

    private func setOwner(_ user: UInt32, _ group: UInt32, of subject: Subject<VaultTree>) throws(VaultError) {
        switch subject {
        case .file(let file): try file.setOwner(user: user, group: group)
        case .folder(let folder): try vault.setOwner(user: user, group: group, of: folder)
        case .node(let name, let folder): try vault.setOwner(user: user, group: group, of: name, in: folder)
        }
    }

    private func give(_ attributes: [Attribute], to owner: AttributeOwner) throws(VaultError) {
        let wanted = Set(attributes.map(\.name))
        for name in try vault.attributeNames(of: owner) where KeptAttributes.isStored(name) && !wanted.contains(name) {
            if KeptAttributes.isAccessList(name) {
                try vault.removeAccessList(of: owner)
            } else if KeptAttributes.isDefaultList(name) {
                try vault.removeDefaultList(of: owner)
            } else {
                try vault.removeAttribute(name, of: owner)
            }
        }
        for attribute in attributes {
            if KeptAttributes.isAccessList(attribute.name) {
                try vault.setAccessList(attribute.value, of: owner, dropsSetGroupID: false)
            } else if KeptAttributes.isDefaultList(attribute.name) {
                try vault.setDefaultList(attribute.value, of: owner)
            } else {
                try vault.setAttribute(attribute.name, to: attribute.value, flags: 0, of: owner)
            }
        }
    }

    private func setModeAndTimes(
        _ metadata: Metadata, of subject: Subject<VaultTree>, isLink: Bool
    ) throws(VaultError) {
        let (accessed, modified) = (TimeChange.at(metadata.accessed), TimeChange.at(metadata.modified))
        switch subject {
        case .file(let file):
            try file.setMode(metadata.permissions)
            try file.setTimes(accessed: accessed, modified: modified)
        case .folder(let folder):
            try vault.setMode(metadata.permissions, of: folder)
            try vault.setTimes(accessed: accessed, modified: modified, of: folder)
        case .node(let name, let folder):
            if !isLink { try vault.setMode(metadata.permissions, of: name, in: folder) }
            try vault.setTimes(accessed: accessed, modified: modified, of: name, in: folder)
        }
    }

    func flush(_ files: [File], hasNodes: Bool) throws(VaultError) { try vault.checkpoint() }

    func dropCache(of file: File) {
        // Only clean pages go, and the file was flushed.
        _ = posix_fadvise(file.descriptor.number, 0, 0, POSIX_FADV_DONTNEED)
    }

    func publish(_ file: File, as name: Name, in folder: Directory) throws(VaultError) {
        try vault.giveName(name, in: folder, to: file)
    }

    func link(_ name: Name, in folder: Directory, to newName: Name, in newFolder: Directory) throws(VaultError) {
        let isFile = try vault.kind(of: name, in: folder) == .regular
        let file = isFile ? try vault.openFile(name, in: folder) : nil
        try vault.link(name, in: folder, file: file, to: newName, in: newFolder)
    }

    func stage(_ node: Node, _ metadata: Metadata) -> Name? { nil }
    func removeStaged(_ node: Name) {}

    func publish(_ node: Node, _ staged: Name?, as name: Name, in folder: Directory) throws(VaultError) {
        switch node {
        case .symbolicLink(let target):
            try vault.makeSymbolicLink(to: target, name, in: folder, user: owner.user, group: owner.group)
        case .special(let mode, let device):
            try vault.makeNode(
                name, in: folder, mode: mode, device: device,
                Ownership(mode: mode & 0o7777, user: owner.user, group: owner.group))
        }
    }

    func flushAll() throws(VaultError) { try vault.synchronize() }

    func removeStaged(_ file: File) {
        // What cannot be removed, the next session removes.
        try? vault.removeNameless(file)
    }

    // MARK: Taking the original away

    func setAside(_ name: Name, as newName: Name, in folder: Directory) throws(VaultError) {
        let moved: Moved =
            switch try vault.kind(of: name, in: folder) {
            case .regular: .file(try vault.openFile(name, in: folder))
            case .directory: .directory(try vault.openDirectory(name, in: folder))
            default: .other
            }
        let (old, new) = (try vault.renameEnd(name, in: folder), try vault.renameEnd(newName, in: folder))
        guard new.status == nil else { throw .system(.EEXIST) }
        try vault.rename(old, moved, to: new, replaced: nil, RenameKind(noReplace: true))
    }

    func removeFolder(_ name: Name, in parent: Directory) throws(VaultError) {
        do throws(VaultError) { return try vault.removeDirectory(name, in: parent) } catch {
            guard error == .system(.ENOTEMPTY) else { throw error }
        }
        let folder = try openFolder(name, in: parent)
        for entry in try vault.backingEntries(of: folder.descriptor) where isRemains(entry.name, of: folder) {
            try backing { () throws(Errno) in try vault.store.unlinkTree(entry.name, in: folder.descriptor) }
        }
        try vault.removeDirectory(name, in: parent)
    }

    func remove(_ name: Name, in folder: Directory) throws(VaultError) { try vault.unlink(name, in: folder) }
}

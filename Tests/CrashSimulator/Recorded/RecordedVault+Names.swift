import Crypto
public import Format
import Foundation
public import Posix
import TestStores
import Vault

// Names are made, moved, linked and removed.

extension RecordedVault {
    public func makeFile(
        _ name: Name, in parent: Folder? = nil, _ protectionClass: ProtectionClass? = nil
    ) throws -> OpenFile {
        let parent = parent ?? root
        return try log {
            let file = try vault.createFile(
                name, in: parent.directory, ownership(0o644),
                try protectionClass ?? vault.classOfNewFile(name, in: parent.directory))
            // As the mount does.
            file.keepLengths()
            let made = OpenFile(file: file, inode: ledger.number(file.identifier))
            return (.makeFile(Slot(name, in: parent.inode), made.inode, protection(of: file)), made)
        }
    }

    /// A file of which nothing is promised before it has a name.
    public func makeNamelessFile() throws -> File {
        try vault.createNamelessFile(in: root.directory, ownership(0o644), .completeUntilFirstUserAuthentication)
    }

    /// The contents that it has by then were synced.
    public func giveName(_ name: Name, in parent: Folder, to file: File, holding contents: [UInt8]) throws -> OpenFile {
        let made = try log {
            try vault.giveName(name, in: parent.directory, to: file)
            let made = OpenFile(file: file, inode: ledger.number(file.identifier))
            return (.makeFile(Slot(name, in: parent.inode), made.inode, protection(of: file)), made)
        }
        log { (.write(made.inode, contents, at: 0), ()) }
        log { (.synchronize(made.inode, dataOnly: true), ()) }
        return made
    }

    public func makeDirectory(_ name: Name, in parent: Folder? = nil) throws -> Folder {
        let parent = parent ?? root
        return try log {
            try vault.makeDirectory(name, in: parent.directory, ownership(0o755))
            let directory = try vault.openDirectory(name, in: parent.directory)
            let made = Folder(directory: directory, inode: ledger.number(directory.identifier))
            let protection = Protection(directory.record.defaultClass, isExplicit: directory.record.isExplicit)
            return (.makeDirectory(Slot(name, in: parent.inode), made.inode, protection), made)
        }
    }

    @discardableResult
    public func makeSymbolicLink(
        to target: String, _ name: Name, in parent: Folder? = nil
    ) throws -> RecordedInode {
        let parent = parent ?? root
        return try log {
            let target = Array(target.utf8)
            try vault.makeSymbolicLink(
                to: target, name, in: parent.directory, user: getuid(), group: getgid())
            let made = ledger.number()
            return (.makeSymbolicLink(Slot(name, in: parent.inode), made, target: target), made)
        }
    }

    public func link(
        _ name: Name, of file: OpenFile, in parent: Folder, to newName: Name, in newParent: Folder
    ) throws {
        try log {
            try vault.link(name, in: parent.directory, file: file.file, to: newName, in: newParent.directory)
            return (.link(Slot(newName, in: newParent.inode), file.inode), ())
        }
    }

    public func unlink(_ name: Name, of inode: RecordedInode, in parent: Folder? = nil) throws {
        let parent = parent ?? root
        try log {
            _ = try vault.unlink(name, in: parent.directory, of: ledger.identifier(of: inode)) { _ in true }
            return (.remove(Slot(name, in: parent.inode), inode), ())
        }
    }

    public func removeDirectory(_ name: Name, _ folder: Folder, in parent: Folder? = nil) throws {
        let parent = parent ?? root
        try log {
            try vault.removeDirectory(name, in: parent.directory)
            return (.remove(Slot(name, in: parent.inode), folder.inode), ())
        }
    }

    public func rename(
        _ name: Name, of file: OpenFile, in parent: Folder? = nil, to newName: Name, in newParent: Folder? = nil
    ) throws {
        try rename(name, .file(file.file), file.inode, parent ?? root, newName, newParent ?? parent ?? root)
    }

    public func rename(
        _ name: Name, of folder: Folder, in parent: Folder? = nil, to newName: Name, in newParent: Folder? = nil
    ) throws {
        try rename(
            name, .directory(folder.directory), folder.inode, parent ?? root, newName, newParent ?? parent ?? root)
    }

    public func rename(_ name: Name, ofLink inode: RecordedInode, to newName: Name) throws {
        try rename(name, .other, inode, root, newName, root)
    }

    private func rename(
        _ name: Name, _ moved: Moved, _ inode: RecordedInode, _ parent: Folder, _ newName: Name, _ newParent: Folder
    ) throws {
        let target = try? vault.lookup(newName, in: newParent.directory)
        var replaced: ReplacedFile?
        var replacedInode: RecordedInode?
        switch target?.details {
        case .file(let header):
            replaced = ReplacedFile(header)
            replacedInode = ledger.files[header.file]
        case .directory(let directory): replacedInode = ledger.directories[directory.identifier]
        default: break
        }
        var before: Protection?
        if case .file(let file) = moved { before = protection(of: file) }
        try log {
            try vault.rename(
                vault.renameEnd(name, in: parent.directory), moved,
                to: vault.renameEnd(newName, in: newParent.directory), replaced: replaced, RenameKind())
            var taken: Protection?
            if case .file(let file) = moved, protection(of: file) != before { taken = protection(of: file) }
            return (
                .rename(
                    Slot(name, in: parent.inode), to: Slot(newName, in: newParent.inode), inode,
                    replacing: replacedInode, taking: taken), ()
            )
        }
    }

    /// A file or directory at a name, as one side of an exchange.
    public struct Named {
        let name: Name
        let parent: Folder
        let moved: Moved
        let inode: RecordedInode

        public init(_ name: Name, _ file: OpenFile, in parent: Folder) {
            (self.name, self.parent, moved, inode) = (name, parent, .file(file.file), file.inode)
        }

        public init(_ name: Name, _ folder: Folder, in parent: Folder) {
            (self.name, self.parent, moved, inode) = (name, parent, .directory(folder.directory), folder.inode)
        }

        fileprivate var slot: Slot { Slot(name, in: parent.inode) }
        fileprivate var exchanged: Exchanged { Exchanged(name, in: parent.directory, moved) }
    }

    public func exchange(_ one: Named, _ other: Named) throws {
        try log {
            try vault.exchange(one.exchanged, other.exchanged)
            return (.exchange(one.slot, one.inode, with: other.slot, other.inode), ())
        }
    }

    // MARK: What is there already

    /// An existing file, opened for writing.
    public func openFile(_ name: Name, in parent: Folder? = nil) throws -> OpenFile {
        let file = try vault.openFile(name, in: (parent ?? root).directory)
        try file.loadKey()
        try file.prepareToWrite()
        return OpenFile(file: file, inode: ledger.files[file.identifier]!)
    }

    public func openDirectory(_ name: Name, in parent: Folder? = nil) throws -> Folder {
        let directory = try vault.openDirectory(name, in: (parent ?? root).directory)
        return Folder(directory: directory, inode: ledger.directories[directory.identifier]!)
    }
}

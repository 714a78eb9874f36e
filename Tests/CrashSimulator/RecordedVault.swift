import Crypto
public import Format
import Foundation
import Keybag
public import Posix
public import Store
public import Vault

/// A vault in memory, driven without a mount: all that it does to its folder is recorded, and all that it was asked for
/// and has acknowledged is in a ledger.
public final class RecordedVault {
    public let folder: StateFolder
    public let store: RecordingStore
    public let keys: VaultKeys
    public let vault: Vault
    public private(set) var ledger: Ledger
    public let root: Folder
    private let rootProtection: Protection

    public struct Folder {
        public let directory: Directory
        public let inode: RecordedInode
    }

    /// A file that stays open.
    public struct OpenFile {
        public let file: File
        public let inode: RecordedInode
    }

    /// - Parameter wrap: puts a store that fails around the recording one.
    public init(wrapping wrap: (RecordingStore) -> any Store = { $0 }) throws {
        folder = try StateFolder()
        keys = try VaultKeys(in: folder)
        store = try RecordingStore(DirectoryStore(path: folder.path))
        vault = keys.vault(over: wrap(store))
        let directory = try vault.openRoot()
        root = Folder(directory: directory, inode: .root)
        rootProtection = Protection(directory.record.defaultClass, isExplicit: directory.record.isExplicit)
        ledger = Ledger(root: directory.identifier)
    }

    public var records: [Record] { store.recorder.records }
    public var found: Int { store.recorder.foundCount }
    public var promise: Promise { Promise(ledger, root: rootProtection) }

    public func names(in folder: Folder) throws -> Set<String> {
        Set(try vault.entries(of: folder.directory).map(\.name.description))
    }

    // MARK: Acts

    private func log<Result>(_ body: () throws -> (Ledger.Act, Result)) rethrows -> Result {
        let begin = store.recorder.count
        let (act, result) = try body()
        ledger.append(act, from: begin, to: store.recorder.count)
        return result
    }

    public func makeFile(
        _ name: Name, in parent: Folder? = nil, _ protectionClass: ProtectionClass? = nil
    ) throws -> OpenFile {
        let parent = parent ?? root
        return try log {
            let file = try vault.createFile(
                name, in: parent.directory, ownership(0o644),
                protectionClass ?? vault.classOfNewFile(name, in: parent.directory))
            let made = OpenFile(file: file, inode: ledger.number(file.identifier))
            return (.makeFile(Slot(name, in: parent.inode), made.inode, protection(of: file)), made)
        }
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

    public func makeSymbolicLink(to target: String, _ name: Name, in parent: Folder? = nil) throws {
        let parent = parent ?? root
        try log {
            let target = Array(target.utf8)
            try vault.makeSymbolicLink(
                to: target, name, in: parent.directory, user: getuid(), group: getgid())
            return (.makeSymbolicLink(Slot(name, in: parent.inode), ledger.number(), target: target), ())
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
            try vault.unlink(name, in: parent.directory)
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

    private func rename(
        _ name: Name, _ moved: Moved, _ inode: RecordedInode, _ parent: Folder, _ newName: Name, _ newParent: Folder
    ) throws {
        let target = try? vault.lookup(newName, in: newParent.directory)
        var replaced: FileHeader?
        var replacedInode: RecordedInode?
        switch target?.details {
        case .file(let header):
            replaced = header
            replacedInode = ledger.files[header.file]
        case .directory(let directory): replacedInode = ledger.directories[directory.identifier]
        default: break
        }
        var before: Protection?
        if case .file(let file) = moved { before = protection(of: file) }
        try log {
            try vault.rename(
                name, in: parent.directory, moved, to: newName, in: newParent.directory, replaced: replaced,
                replacesDirectory: target?.status.kind == .directory, noReplace: false)
            var taken: Protection?
            if case .file(let file) = moved, protection(of: file) != before { taken = protection(of: file) }
            return (
                .rename(
                    Slot(name, in: parent.inode), to: Slot(newName, in: newParent.inode), inode,
                    replacing: replacedInode, taking: taken), ()
            )
        }
    }

    public func write(_ bytes: [UInt8], to file: OpenFile, at offset: Int) throws {
        try log {
            try unsafe file.file.write(bytes.span.bytes, at: UInt64(offset))
            return (.write(file.inode, bytes, at: offset), ())
        }
    }

    public func append(_ bytes: [UInt8], to file: OpenFile) throws {
        try write(bytes, to: file, at: Int(file.file.length))
    }

    public func truncate(_ file: OpenFile, to size: Int) throws {
        try log {
            try file.file.truncate(to: UInt64(size))
            return (.truncate(file.inode, to: size), ())
        }
    }

    /// Writes on a store that may be full: what the file holds then is taken down.
    public func tryToWrite(_ bytes: [UInt8], to file: OpenFile, at offset: Int) throws {
        let begin = store.recorder.count
        do {
            try write(bytes, to: file, at: offset)
        } catch let error as VaultError where error == .system(.ENOSPC) {
            let end = store.recorder.count
            ledger.append(.write(file.inode, bytes, at: offset), from: begin, to: end)
            ledger.append(.found(file.inode, try file.file.wholeContents()), from: begin, to: end)
        }
    }

    public func setClass(_ protectionClass: ProtectionClass, of file: OpenFile) throws {
        try log {
            try file.file.setClass(protectionClass)
            return (.protect(file.inode, protection(of: file.file)), ())
        }
    }

    public func setDefaultClass(_ protectionClass: ProtectionClass, of folder: Folder) throws {
        try log {
            try vault.setDefaultClass(protectionClass, isExplicit: true, of: folder.directory)
            return (.protect(folder.inode, Protection(protectionClass, isExplicit: true)), ())
        }
    }

    public func synchronize(_ file: OpenFile, dataOnly: Bool = false) throws {
        try log {
            try file.file.synchronize(dataOnly: dataOnly)
            return (.synchronize(file.inode), ())
        }
    }

    public func synchronize(_ folder: Folder? = nil) throws {
        let folder = folder ?? root
        try log {
            try vault.synchronize(folder.directory)
            return (.synchronize(folder.inode), ())
        }
    }

    /// As the daemon does now and then, and for syncfs(2).
    public func synchronizeAll() throws {
        try log {
            try vault.synchronize()
            return (.synchronizeAll, ())
        }
    }

    private func ownership(_ mode: UInt32) -> Ownership { Ownership(mode: mode, user: getuid(), group: getgid()) }

    private func protection(of file: File) -> Protection {
        let header = file.header
        return Protection(header.protectionClass, isExplicit: header.flags.contains(.explicitClass))
    }
}

import Format
import Posix
import Store

/// What a rename moves. The caller has it open, so that nothing else writes its header meanwhile.
public enum Moved: Sendable {
    case file(File)
    case directory(Directory)
    case other
}

/// One of the two names of a rename, and what had it when it was read.
public struct RenameEnd: Sendable {
    public let name: Name
    public let parent: Directory
    let stored: StoredName
    /// Of the inode that has the name; nil if none has. The size of a symbolic link is that of its ciphertext.
    public let status: FileStatus?
}

extension Vault {
    /// Reads what has a name, for a rename. The caller sees to it that no other request changes that meanwhile.
    public func renameEnd(_ name: Name, in parent: Directory) throws(VaultError) -> RenameEnd {
        let stored = try storedName(name, in: parent)
        var status: FileStatus?
        // If the status cannot be read, the name must not be taken away: the journal may know the file by it.
        do throws(VaultError) { status = try backingStatus(of: .entry(stored.name, in: parent.descriptor)) } catch {
            guard error == .system(.ENOENT) else { throw error }
        }
        return RenameEnd(name: name, parent: parent, stored: stored, status: status)
    }

    /// Renames an entry, and replaces the one at the new name. Throws `locked`, with nothing changed, if the file must
    /// take over the class of the replaced one and the keys for that are evicted. A directory may replace an empty one.
    ///
    /// - Parameter replaced: the regular file at the new name, if there is one.
    public func rename(
        _ old: RenameEnd, _ moved: Moved, to new: RenameEnd, replaced: ReplacedFile?, _ kind: RenameKind
    ) throws(VaultError) {
        for end in [old, new] { try end.parent.refuseStale() }
        let ends = [old, new].map { ConcurrentRenames.Renamed(name: $0.name, parent: $0.parent) }
        try order.renames.noting(ends) { () throws(VaultError) in
            try prepareSidecar(of: new.stored, in: new.parent)
            switch moved {
            case .file(let file): try renameFile(file, old, to: new, replaced, kind)
            case .directory(let directory): try renameDirectory(directory, old, to: new, kind)
            case .other:
                try replacing(new.status, new.stored, new.name, in: new.parent, isReplaced: true) {
                    () throws(VaultError) in try renameStored(old, to: new, kind)
                }
                if let replaced { noteLoss(of: replaced.file, at: self.binding(of: new.name, in: new.parent)) }
            }
            let isElsewhere =
                old.stored.name != new.stored.name || old.parent.identifier != new.parent.identifier
            if isElsewhere && !kind.leavesWhiteout { dropSidecar(of: old.stored, in: old.parent) }
        }
    }

    private func renameFile(
        _ file: File, _ old: RenameEnd, to new: RenameEnd, _ replaced: ReplacedFile?, _ kind: RenameKind
    ) throws(VaultError) {
        let binding = binding(of: new.name, in: new.parent)
        file.passTime(at: binding)
        if let status = old.status { noteTime(of: status, at: old.name, in: old.parent) }
        let move = try file.beginMove(
            to: binding, in: new.parent.identifier,
            taking: protection(
                for: file, at: new.name,
                replacing: replaced.map { replaced in
                    ReplacedFile(
                        file: replaced.file,
                        protectionClass: strictest(replaced.protectionClass, of: replaced.file, at: binding),
                        isExplicit: replaced.isExplicit)
                },
                sameDirectory: old.parent.identifier == new.parent.identifier),
            replacing: replaced == nil ? nil : new.status.map(timeSeen) ?? .now, isRename: true)
        do throws(VaultError) {
            let oldBinding = self.binding(of: old.name, in: old.parent)
            try replacing(new.status, new.stored, new.name, in: new.parent, isReplaced: true, by: file) {
                () throws(VaultError) in
                try renameStored(old, to: new, kind)
                // Before another thread can write to it: once the folders are durable, the journal may know the file by
                // its new name.
                file.leave(oldBinding, for: binding, [old.parent.descriptor, new.parent.descriptor])
                file.noteMove(from: oldBinding, to: binding)
            }
            if let replaced, replaced.file != file.identifier { noteLoss(of: replaced.file, at: binding) }
        } catch {
            try? file.cancelMove(move)
            throw error
        }
    }

    /// Makes each step durable before the next one relies on it: a directory does not open if its record is for another
    /// name.
    private func renameDirectory(
        _ directory: Directory, _ old: RenameEnd, to new: RenameEnd, _ kind: RenameKind
    ) throws(VaultError) {
        takeInAll(directory)
        // Each path that changes needs a record in the journal: after a checkpoint it knows fewer files.
        try checkpoint()
        let binding = binding(of: new.name, in: new.parent)
        try beginMove(of: directory, to: binding)
        var tombstone: Name?
        let replacesDirectory = new.status?.kind == .directory
        let replaced = replacesDirectory ? openToRemove(new.name, in: new.parent) : nil
        let sidecar = sidecarToRemove(with: replaced, in: new.parent)
        do throws(VaultError) {
            tombstone = replacesDirectory ? try moveAside(new.stored, in: new.parent, noting: true) : nil
            do throws(VaultError) {
                let change = {
                    self.change(
                        of: old.stored.name, in: old.parent, to: new.stored.name, in: new.parent, isFolder: true)
                }
                try keepingIntents({ change().map { [$0] } }) { () throws(VaultError) in
                    try renameStored(old, to: new, kind)
                }
            } catch {
                if let tombstone {
                    try? renameFresh(tombstone, to: new.stored.name, in: new.parent)
                    forgetTombstone(flushing: new.parent)
                }
                throw error
            }
        } catch {
            cancelMove(of: directory)
            throw error
        }
        files.forgetFolder(old.name, in: old.parent)
        didMove(directory, to: binding)
        noteRemoval(of: replaced)
        finishMove(of: directory, in: [new.parent.descriptor, old.parent.descriptor])
        // Only once its absence is durable: a crash that undoes the rename must find it.
        if let tombstone, directory.state.withLock({ $0.movedIn.isEmpty }) {
            forgetTombstone()
            removeTombstone(tombstone, in: new.parent)
        }
        if let sidecar { drop(sidecar) }
    }

    /// The class and mark that a file takes over from the one that it replaces, so that an atomic save does not lose a
    /// class: a stricter one always, unless it was inherited and that of the new file was set; and one that was set
    /// also if it is weaker, in the same directory, unless the new file's was set too, or the policy demands more.
    private func protection(
        for file: File, at newName: Name, replacing replaced: ReplacedFile?, sameDirectory: Bool
    ) -> (class: ProtectionClass, isExplicit: Bool)? {
        guard let replaced else { return nil }
        let header = file.header
        guard header.file != replaced.file else { return nil }
        let isStricter = replaced.protectionClass.isStricter(than: header.protectionClass)
        guard replaced.isExplicit else {
            // A lock would kill the programs that map a database's index: `classOfNewFile`.
            let isIndex = SQLiteSideFile(newName).map { !$0.hasContents } ?? false
            return isStricter && !header.protection.isExplicit && !isIndex ? (replaced.protectionClass, false) : nil
        }
        let isWeaker = header.protectionClass.isStricter(than: replaced.protectionClass)
        if isWeaker, header.protection.isExplicit || options.minimumClass.isStricter(than: replaced.protectionClass) {
            return nil
        }
        return sameDirectory || isStricter ? (replaced.protectionClass, true) : nil
    }

    private func renameStored(_ old: RenameEnd, to new: RenameEnd, _ kind: RenameKind) throws(VaultError) {
        let (name, newName) = (old.stored.name, new.stored.name)
        let (folder, newFolder) = (old.parent.descriptor, new.parent.descriptor)
        if kind.noReplace && !kind.leavesWhiteout {
            return try renameFresh(name, in: folder, to: newName, in: newFolder)
        }
        try backing { () throws(Errno) in
            try store.rename(name, in: folder, to: newName, in: newFolder, flags: kind.flags)
        }
    }
}

/// A file that is replaced; the file that replaces it may take over its class.
public struct ReplacedFile: Sendable {
    let file: FileIdentifier
    let protectionClass: ProtectionClass
    let isExplicit: Bool

    public init(file: FileIdentifier, protectionClass: ProtectionClass, isExplicit: Bool) {
        self.file = file
        self.protectionClass = protectionClass
        self.isExplicit = isExplicit
    }

    public init(_ header: FileHeader) {
        self.init(
            file: header.file, protectionClass: header.protectionClass, isExplicit: header.protection.isExplicit)
    }
}

/// The flags of a rename.
public struct RenameKind: Sendable {
    /// `EEXIST` if the new name is taken.
    public var noReplace: Bool
    /// Leaves a whiteout under the old name: a character device 0/0, which overlay file systems show as no entry.
    public var leavesWhiteout: Bool

    public init(noReplace: Bool = false, leavesWhiteout: Bool = false) {
        self.noReplace = noReplace
        self.leavesWhiteout = leavesWhiteout
    }

    var flags: UInt32 {
        (noReplace ? RENAME_NOREPLACE : 0) | (leavesWhiteout ? RENAME_WHITEOUT : 0)
    }
}

import Format
import Posix
import Store

/// What a rename moves. The caller has it open, so that nothing else writes its header meanwhile.
public enum Moved: Sendable {
    case file(File)
    case directory(Directory)
    case other
}

extension Vault {
    /// Renames an entry, and replaces the one at `newName`. Throws `locked`, with nothing changed, if the file must
    /// take over the class of the replaced one and the keys for that are evicted.
    ///
    /// - Parameters:
    ///   - replaced: the regular file at the new name, if there is one.
    ///   - replacesDirectory: an empty directory has the new name.
    public func rename(
        _ name: Name, in parent: Directory, _ moved: Moved, to newName: Name, in newParent: Directory,
        replaced: ReplacedFile?, replacesDirectory: Bool, _ kind: RenameKind
    ) throws(VaultError) {
        let ends = [
            ConcurrentRenames.Renamed(name: name, parent: parent),
            ConcurrentRenames.Renamed(name: newName, parent: newParent),
        ]
        try renames.noting(ends) { () throws(VaultError) in
            try renameEntry(
                name, in: parent, moved, to: newName, in: newParent, replaced: replaced,
                replacesDirectory: replacesDirectory, kind)
        }
    }

    private func renameEntry(
        _ name: Name, in parent: Directory, _ moved: Moved, to newName: Name, in newParent: Directory,
        replaced: ReplacedFile?, replacesDirectory: Bool, _ kind: RenameKind
    ) throws(VaultError) {
        let old = try storedName(name, in: parent)
        let new = try storedName(newName, in: newParent)
        try prepareSidecar(of: new, in: newParent)
        switch moved {
        case .file(let file):
            let binding = binding(of: newName, in: newParent)
            let standing = try replacedStatus(new.name, in: newParent)
            let move = try file.beginMove(
                to: binding, in: newParent.identifier,
                taking: protection(
                    for: file, at: newName, replacing: replaced,
                    sameDirectory: parent.identifier == newParent.identifier),
                replacing: replaced == nil ? nil : standing?.modified ?? .now, isRename: true)
            do throws(VaultError) {
                let oldBinding = self.binding(of: name, in: parent)
                try replacing(standing, new, newName, in: newParent, isReplaced: true, by: file) {
                    () throws(VaultError) in
                    try renameStored(old.name, in: parent, to: new.name, in: newParent, kind)
                    // Before another thread can write to it: once the folders are durable, the journal may know the
                    // file by its new name.
                    file.leave(oldBinding, for: binding, [parent.descriptor, newParent.descriptor])
                }
            } catch {
                try? file.cancelMove(move)
                throw error
            }
        case .directory(let directory):
            try renameDirectory(
                directory, old, in: parent, to: new, newName, in: newParent, replacesDirectory: replacesDirectory,
                kind)
        case .other:
            let standing = try replacedStatus(new.name, in: newParent)
            try replacing(standing, new, newName, in: newParent, isReplaced: true) { () throws(VaultError) in
                try renameStored(old.name, in: parent, to: new.name, in: newParent, kind)
            }
        }
        let isElsewhere = old.name != new.name || parent.identifier != newParent.identifier
        if isElsewhere && !kind.leavesWhiteout { dropSidecar(of: old, in: parent) }
    }

    /// Makes each step durable before the next one relies on it: a directory does not open if its record is for another
    /// name.
    private func renameDirectory(
        _ directory: Directory, _ old: StoredName, in parent: Directory, to new: StoredName, _ newName: Name,
        in newParent: Directory, replacesDirectory: Bool, _ kind: RenameKind
    ) throws(VaultError) {
        // Each path that changes needs a record in the journal: after a checkpoint it knows fewer files.
        try checkpoint()
        let binding = binding(of: newName, in: newParent)
        try beginMove(of: directory, to: binding)
        var tombstone: Name?
        let sidecar = replacesDirectory ? sidecarToRemove(with: newName, in: newParent) : nil
        do throws(VaultError) {
            tombstone = replacesDirectory ? try moveAside(new, in: newParent, noting: true) : nil
            do throws(VaultError) {
                let change = { self.change(of: old.name, in: parent, to: new.name, in: newParent, isFolder: true) }
                try keepingIntents({ change().map { [$0] } }) { () throws(VaultError) in
                    try renameStored(old.name, in: parent, to: new.name, in: newParent, kind)
                }
            } catch {
                if let tombstone { try? renameFresh(tombstone, to: new.name, in: newParent) }
                throw error
            }
        } catch {
            cancelMove(of: directory)
            throw error
        }
        files.forgetFolder(old.name, in: parent)
        // The rename has happened, and the directory opens under both names.
        directory.state.withLock { $0.binding = binding }
        finishMove(of: directory, in: [newParent.descriptor, parent.descriptor])
        // Only once its absence is durable: a crash that undoes the rename must find it.
        if let tombstone, directory.state.withLock({ $0.movedIn.isEmpty }) { removeTombstone(tombstone, in: newParent) }
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
        if isWeaker, header.protection.isExplicit || minimumClass.isStricter(than: replaced.protectionClass) {
            return nil
        }
        return sameDirectory || isStricter ? (replaced.protectionClass, true) : nil
    }

    private func renameStored(
        _ old: Name, in parent: Directory, to new: Name, in newParent: Directory, _ kind: RenameKind
    ) throws(VaultError) {
        if kind.noReplace && !kind.leavesWhiteout {
            return try renameFresh(old, in: parent.descriptor, to: new, in: newParent.descriptor)
        }
        try backing { () throws(Errno) in
            try store.rename(old, in: parent.descriptor, to: new, in: newParent.descriptor, flags: kind.flags)
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

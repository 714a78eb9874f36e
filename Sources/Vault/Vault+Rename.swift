import Format
import Posix
import Store

/// What a rename moves: the caller has it open, so that nothing else writes its header meanwhile.
public enum Moved: Sendable {
    case file(File)
    case directory(Directory)
    case other
}

extension Vault {
    /// Renames an entry, replacing what `newName` was. `ENOKEY`'s cause `locked` when the class of a replaced file
    /// must be taken over and the keys for that are away: then nothing has changed.
    ///
    /// - Parameters:
    ///   - replaced: the header of the regular file at the new name, if one is there.
    ///   - replacesDirectory: an empty directory is there.
    public func rename(
        _ name: Name, in parent: Directory, _ moved: Moved, to newName: Name, in newParent: Directory,
        replaced: FileHeader?, replacesDirectory: Bool, noReplace: Bool
    ) throws(VaultError) {
        let old = try storedName(name, in: parent)
        let new = try storedName(newName, in: newParent)
        try prepareSidecar(of: new, in: newParent)
        switch moved {
        case .file(let file):
            let place = place(of: newName, in: newParent)
            let move = try file.beginMove(
                to: place,
                taking: protection(
                    for: file, replacing: replaced, sameDirectory: parent.identifier == newParent.identifier),
                replacing: replaced != nil)
            do throws(VaultError) {
                try replacing(new, newName, in: newParent) { () throws(VaultError) in
                    try renameStored(old.name, in: parent, to: new.name, in: newParent, noReplace: noReplace)
                }
            } catch {
                try? file.cancelMove(move)
                throw error
            }
            file.finishMove(
                from: self.place(of: name, in: parent), to: place, [parent.descriptor, newParent.descriptor])
        case .directory(let directory):
            try renameDirectory(
                directory, old, in: parent, to: new, newName, in: newParent, replacesDirectory: replacesDirectory,
                noReplace: noReplace)
        case .other:
            try replacing(new, newName, in: newParent) { () throws(VaultError) in
                try renameStored(old.name, in: parent, to: new.name, in: newParent, noReplace: noReplace)
            }
        }
        if old.name != new.name || parent.identifier != newParent.identifier { dropSidecar(of: old, in: parent) }
    }

    /// Each step is durable before the next one relies on it: a directory whose record belongs elsewhere does not open.
    private func renameDirectory(
        _ directory: Directory, _ old: StoredName, in parent: Directory, to new: StoredName, _ newName: Name,
        in newParent: Directory, replacesDirectory: Bool, noReplace: Bool
    ) throws(VaultError) {
        // The journal knows files by their paths.
        try settle()
        let place = place(of: newName, in: newParent)
        try beginMove(of: directory, to: place)
        do throws(VaultError) {
            let aside = replacesDirectory ? try setAside(new, in: newParent, noting: true) : nil
            do throws(VaultError) {
                try renameStored(old.name, in: parent, to: new.name, in: newParent, noReplace: noReplace)
            } catch {
                if let aside { try? renameFresh(aside, to: new.name, in: newParent) }
                throw error
            }
            try backing { () throws(Errno) in
                try store.synchronize(newParent.descriptor, dataOnly: false)
                try store.synchronize(parent.descriptor, dataOnly: false)
            }
            if let aside { removeAside(aside, in: newParent) }
        } catch {
            cancelMove(of: directory)
            throw error
        }
        // It has happened and is good at the new place: what fails here is done by whoever opens it next.
        try? finishMove(of: directory)
        directory.state.withLock { $0.place = place }
    }

    /// The class and mark that a file takes over from the one that it replaces: the atomic save of every editor must
    /// not lose a class. From another directory only a stricter one.
    private func protection(
        for file: File, replacing replaced: FileHeader?, sameDirectory: Bool
    ) -> (class: ProtectionClass, isExplicit: Bool)? {
        guard let replaced, replaced.protection.isExplicit else { return nil }
        let header = file.header
        guard header.file != replaced.file else { return nil }
        guard sameDirectory || replaced.protectionClass.isStricter(than: header.protectionClass) else { return nil }
        return (replaced.protectionClass, true)
    }

    private func renameStored(
        _ old: Name, in parent: Directory, to new: Name, in newParent: Directory, noReplace: Bool
    ) throws(VaultError) {
        try backing { () throws(Errno) in
            try store.rename(
                old, in: parent.descriptor, to: new, in: newParent.descriptor,
                flags: noReplace ? RenameFlags.noReplace : 0)
        }
    }
}

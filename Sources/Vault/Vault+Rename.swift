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
        let place = place(of: newName, in: newParent)
        try prepareSidecar(of: new, in: newParent)
        var before: FileHeader?
        if case .file(let file) = moved { before = file.header }
        do throws(VaultError) {
            try beginMove(
                moved, to: place,
                taking: protection(
                    for: moved, replacing: replaced, sameDirectory: parent.identifier == newParent.identifier))
            let aside = replacesDirectory ? try setAside(new, in: newParent) : nil
            do throws(VaultError) {
                try renameStored(old.name, in: parent, to: new.name, in: newParent, noReplace: noReplace)
            } catch {
                if let aside {
                    try? renameFresh(aside, to: new.name, in: newParent)
                }
                throw error
            }
            if let aside { removeAside(aside, in: newParent) }
        } catch {
            switch moved {
            case .file(let file): if let before { try? file.cancelMove(restoring: before) }
            case .directory(let directory): cancelMove(of: directory)
            case .other: break
            }
            throw error
        }
        if old.name != new.name || parent.identifier != newParent.identifier { dropSidecar(of: old, in: parent) }
        finishMove(moved, at: place)
    }

    /// The class and mark that a file takes over from the one that it replaces: the atomic save of every editor must
    /// not lose a class. From another directory only a stricter one.
    private func protection(
        for moved: Moved, replacing replaced: FileHeader?, sameDirectory: Bool
    ) -> (class: ProtectionClass, isExplicit: Bool)? {
        guard case .file(let file) = moved, let replaced, replaced.flags.contains(.explicitClass) else { return nil }
        let header = file.header
        guard header.file != replaced.file else { return nil }
        guard sameDirectory || replaced.protectionClass.isStricter(than: header.protectionClass) else { return nil }
        return (replaced.protectionClass, true)
    }

    private func beginMove(
        _ moved: Moved, to place: Place, taking protection: (class: ProtectionClass, isExplicit: Bool)?
    ) throws(VaultError) {
        switch moved {
        case .file(let file): try file.beginMove(to: place, taking: protection)
        case .directory(let directory): try beginMove(of: directory, to: place)
        case .other: break
        }
    }

    /// The rename has happened and is good at the new place: what fails here is done by whoever opens it next.
    private func finishMove(_ moved: Moved, at place: Place) {
        switch moved {
        case .file(let file): try? file.finishMove(at: place)
        case .directory(let directory):
            try? finishMove(of: directory)
            directory.state.withLock { $0.place = place }
        case .other: break
        }
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

import Format
import Glibc
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
            let target = replaced == nil ? nil : try? store.status(of: new.name, in: newParent.descriptor)
            let move = try file.beginMove(
                to: place,
                taking: protection(
                    for: file, replacing: replaced, sameDirectory: parent.identifier == newParent.identifier),
                replacing: replaced == nil ? nil : target?.modified ?? .now, isRename: true)
            do throws(VaultError) {
                let oldPlace = self.place(of: name, in: parent)
                try replacing(new, newName, in: newParent, isReplaced: true, by: file) { () throws(VaultError) in
                    try renameStored(old.name, in: parent, to: new.name, in: newParent, noReplace: noReplace)
                    // Before anybody writes to it: the journal may know it by the new name once the folders are durable.
                    file.leave(oldPlace, for: place, [parent.descriptor, newParent.descriptor])
                }
            } catch {
                try? file.cancelMove(move)
                throw error
            }
        case .directory(let directory):
            try renameDirectory(
                directory, old, in: parent, to: new, newName, in: newParent, replacesDirectory: replacesDirectory,
                noReplace: noReplace)
        case .other:
            try replacing(new, newName, in: newParent, isReplaced: true) { () throws(VaultError) in
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
        // The journal knows files by their paths: the fewer it knows the better.
        try settle()
        let place = place(of: newName, in: newParent)
        try beginMove(of: directory, to: place)
        var aside: Name?
        do throws(VaultError) {
            aside = replacesDirectory ? try setAside(new, in: newParent, noting: true) : nil
            do throws(VaultError) {
                try keepingClaims(within: directory, at: new.name, in: newParent) { () throws(VaultError) in
                    try renameStored(old.name, in: parent, to: new.name, in: newParent, noReplace: noReplace)
                }
            } catch {
                if let aside { try? renameFresh(aside, to: new.name, in: newParent) }
                throw error
            }
        } catch {
            cancelMove(of: directory)
            throw error
        }
        files.forgetFolder(old.name, in: parent)
        // It has happened, and is good at the new place as at the old one.
        directory.state.withLock { $0.place = place }
        finishMove(of: directory, in: [newParent.descriptor, parent.descriptor])
        // Not before its absence is durable: a cut that takes the rename back must find it.
        if let aside, directory.state.withLock({ $0.movedIn.isEmpty }) { removeAside(aside, in: newParent) }
    }

    /// Runs `body`, which gives a folder another name, once the journal knows under what paths its files are found then.
    /// They may be written to at any time.
    private func keepingClaims(
        within directory: Directory, at name: Name, in parent: Directory, _ body: () throws(VaultError) -> Void
    ) throws(VaultError) {
        var most = 16
        let bound = Int(halfSize / Journal.roomForFile / 2)
        var isDone = false
        while !isDone {
            let room = UInt64(most) * Journal.roomForFile
            try makeRoom(room)
            defer { giveBackRoom(room) }
            isDone = try paths.withExclusive { () throws(VaultError) in
                // Too long to be told, then so are those within: they are found without.
                guard let old = try? store.path(of: directory.descriptor) else {
                    try body()
                    return true
                }
                let new = path(of: name, in: parent)
                let isNoted = try backing { () throws(Errno) in
                    let journal = try openJournal()
                    let claims = journal.claims(within: old)
                    guard claims.count <= most else {
                        // Those who write to these do not wait for this.
                        most = min(bound, 2 * claims.count)
                        return false
                    }
                    let paths = claims.mapValues { claim in
                        let path = new.map { $0 + claim.path.dropFirst(old.count) } ?? []
                        return path.count >= Int(PATH_MAX) ? [] : path
                    }
                    // Without a path a file is found by its header.
                    guard claims.allSatisfy({ $0.value.low > 0 || !paths[$0.key]!.isEmpty }) else { return false }
                    for (file, claim) in claims {
                        let path = paths[file]!
                        _ = try journal.append(Journal.Claim(path: path, low: claim.low, high: claim.high), of: file)
                    }
                    if !claims.isEmpty { try journal.flush() }
                    return true
                }
                if isNoted { try body() }
                return isNoted
            }
            if !isDone {
                try settle()
                try releaseSettled()
            }
        }
    }

    /// Nil where it cannot be told.
    private func path(of name: Name, in parent: Directory) -> [UInt8]? {
        if parent.descriptor === store.root { return name.bytes }
        guard let path = try? store.path(of: parent.descriptor) else { return nil }
        return path + [UInt8(ascii: "/")] + name.bytes
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
        if noReplace {
            return try renameFresh(old, in: parent.descriptor, to: new, in: newParent.descriptor)
        }
        try backing { () throws(Errno) in
            try store.rename(old, in: parent.descriptor, to: new, in: newParent.descriptor, flags: 0)
        }
    }
}

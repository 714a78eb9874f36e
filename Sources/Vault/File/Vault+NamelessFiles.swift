import Crypto
import Format
import Posix
import Store

// Files without a name, which they may get later: open(2), O_TMPFILE. They lie in a folder of their own that is not
// shown; giving one a name is a rename out of it. The next session removes what a session leaves there.

/// Where a file lies that has no name yet.
struct UnnamedBinding {
    let name: Name
    let folder: Descriptor
    let binding: NameBinding
}

extension Vault {
    /// Makes an empty file without a name, open and with its key in memory, with what a new file in `parent` inherits.
    ///
    /// It lasts until `removeNameless` removes it or `giveName` gives it a name.
    public func createNamelessFile(
        in parent: Directory, _ ownership: Ownership, _ protectionClass: ProtectionClass
    ) throws(VaultError) -> File {
        let folder = try makeOwnFolder(.nameless)
        let nameless = UnnamedBinding(name: .temporary(), folder: folder, binding: NameBinding(Random.bytes(16)))
        let file = try makeFile(
            nameless.name, in: folder, at: nameless.binding, createdIn: nil,
            try inheritance(ownership, in: parent, of: .regular), protectionClass)
        file.nameless.place.withLock { $0 = nameless }
        return file
    }

    /// Gives a name to a file without one; `EEXIST` if the name is taken, `ENOENT` if the file has had a name.
    public func giveName(_ name: Name, in parent: Directory, to file: File) throws(VaultError) {
        try order.renames.noting([ConcurrentRenames.Renamed(name: name, parent: parent)]) { () throws(VaultError) in
            try giveFirstName(name, in: parent, to: file)
        }
    }

    private func giveFirstName(_ name: Name, in parent: Directory, to file: File) throws(VaultError) {
        guard let old = file.nameless.place.withLock({ $0 }) else { throw .system(.ENOENT) }
        try parent.refuseStale()
        let new = try storedName(name, in: parent)
        let binding = binding(of: name, in: parent)
        try prepareSidecar(of: new, in: parent)
        file.passTime(at: binding)
        let move = try file.beginMove(
            to: binding, in: parent.identifier, taking: nil, replacing: nil, isRename: true)
        do throws(VaultError) {
            try File.withoutIntents(on: [file]) { () throws(VaultError) in
                try renameFresh(old.name, in: old.folder, to: new.name, in: parent.descriptor)
                file.leave(old.binding, for: binding, [old.folder, parent.descriptor])
            }
        } catch {
            try? file.cancelMove(move)
            throw error
        }
        file.nameless.place.withLock { $0 = nil }
        noteName(of: file, at: binding)
    }

    /// Removes a file that was made without a name, if it has got none since.
    public func removeNameless(_ file: File) throws(VaultError) {
        let old = file.nameless.place.withLock { place in
            defer { place = nil }
            return place
        }
        guard let old else { return }
        let created = journal.withLock { $0 }?.uncommittedCreate(inode: file.identity.inode)
        try backing { () throws(Errno) in try store.unlink(old.name, in: old.folder) }
        file.noteRemoval(from: old.folder)
        if let created { noteRemoval(of: created) }
        guard let folder = try? attributeFolder.descriptor, !lacksSidecar(file.identifier.bytes) else { return }
        let sidecar = StaleSidecars.Sidecar(
            folder: folder, name: .attributes(of: file.identifier.bytes), directory: old.folder, entry: nil)
        drop(sidecar, of: file.identity)
    }

    /// Removes the files without a name that an earlier session left.
    func clearNameless() {
        guard let folder = try? store.open(.nameless, in: store.root, OpenFlags.directory, mode: 0),
            let entries = try? store.entries(of: folder)
        else { return }
        attributeFolder.find(in: store)
        // If one cannot be removed, the next session tries again.
        for entry in entries where BackingName(entry.name.bytes) == .temporary {
            let owner = nameless(entry.name, in: folder)
            do throws(Errno) { try store.unlink(entry.name, in: folder) } catch { continue }
            if let owner { discardSidecar(of: owner.bytes) }
        }
    }

    /// The ID of a file without a name, if it may have a sidecar.
    private func nameless(_ name: Name, in folder: Descriptor) -> FileIdentifier? {
        guard (try? attributeFolder.descriptor) != nil,
            let file = try? store.open(name, in: folder, OpenFlags.read, mode: 0)
        else { return nil }
        return try? readHeader(of: file).file
    }
}

extension File {
    /// The file has no name yet.
    public var isNameless: Bool { nameless.place.withLock { $0 != nil } }
}

import Crypto
import Format
import Glibc
import Keybag
import Posix
import Store

/// The owner and mode of a new entry.
public struct Ownership: Hashable, Sendable {
    /// Permission bits, without the type.
    public var mode: UInt32
    public var user: UInt32
    public var group: UInt32
    /// Bits to clear in the mode, unless the parent directory has a default access control list.
    public var umask: UInt32

    public init(mode: UInt32, user: UInt32, group: UInt32, umask: UInt32 = 0) {
        self.mode = mode
        self.user = user
        self.group = group
        self.umask = umask
    }
}

extension Vault {
    /// Makes the root's record in a fresh vault; `defaultClass` applies to everything without a class of its own.
    public static func makeRoot(
        in store: any Store, keys: VolumeKeys, traits: StoreTraits, defaultClass: ProtectionClass
    ) throws(VaultError) {
        let ring = KeyRing(volume: keys.volume)
        let vault = Vault(store: store, keys: keys, ring: ring, traits: traits, isReadOnly: false)
        let record = DirectoryRecord(
            directory: DirectoryIdentifier(Random.bytes(16)), defaultClass: defaultClass, isExplicit: true)
        try vault.writeRecord(record, at: .zero, as: .directoryRecord, in: store.root)
        try vault.prove(record, at: .zero, in: store.root)
        try backing { () throws(Errno) in try store.synchronize(store.root, dataOnly: false) }
    }

    /// Makes a directory. It inherits its parent's default class and default access control list, and from a
    /// set-group-ID parent the group.
    public func makeDirectory(_ name: Name, in parent: Directory, _ ownership: Ownership) throws(VaultError) {
        try boundDirtyFiles()
        let stored = try storedName(name, in: parent)
        let inherited = try inheritance(ownership, in: parent, of: .directory)
        let temporary = Name.temporary()
        let identifier = DirectoryIdentifier(Random.bytes(16))
        try backing { () throws(Errno) in try store.makeDirectory(temporary, in: parent.descriptor, mode: 0o700) }
        do {
            let folder = try openFolder(temporary, in: parent.descriptor)
            let record = DirectoryRecord(
                directory: identifier, defaultClass: classOfNew(in: parent), isExplicit: false)
            let binding = binding(of: name, in: parent)
            try writeRecord(record, at: binding, as: .directoryRecord, in: folder)
            try writeFirstCopy(of: record, at: binding, in: folder)
            try give(AttributeSubject(descriptor: folder, identifier: identifier.bytes), inherited, made: nil)
            try prepareSidecar(of: stored, in: parent)
            try renameFresh(temporary, to: stored.name, in: parent)
            files.noteFolder(stored.name, in: parent)
        } catch {
            try? store.unlinkTree(temporary, in: parent.descriptor)
            discardSidecar(of: identifier.bytes)
            throw error
        }
    }

    /// Removes an empty directory: one that holds nothing but its record and orphans.
    ///
    /// - Parameter known: the directory, if the caller has it open.
    public func removeDirectory(_ name: Name, in parent: Directory, known: Directory? = nil) throws(VaultError) {
        let stored = try storedName(name, in: parent)
        let directory = known ?? openToRemove(name, in: parent)
        let sidecar = sidecarToRemove(with: directory, in: parent)
        let tombstone = try moveAside(stored, in: parent)
        noteRemoval(of: directory)
        removeTombstone(tombstone, in: parent)
        if let sidecar { drop(sidecar) }
        files.forgetFolder(stored.name, in: parent)
        dropSidecar(of: stored, in: parent)
    }

    /// Renames an empty directory to a tombstone; `ENOTEMPTY` if it is not empty. Shells in it go: nobody sees them.
    ///
    /// No backing store removes or replaces a directory that holds its record, and if the record were removed first, a
    /// crash would leave a directory without one.
    ///
    /// - Parameter noting: notes it in the journal: after a crash, replay puts the directory back unless another entry
    ///   has its name by then.
    func moveAside(_ stored: StoredName, in parent: Directory, noting: Bool = false) throws(VaultError) -> Name {
        let (folder, entries) = try withOwnerPermissions(0o500, of: .entry(stored.name, in: parent.descriptor)) {
            () throws(VaultError) in
            let folder = try openFolder(stored.name, in: parent.descriptor)
            return (folder, try backing { () throws(Errno) in try store.entries(of: folder) })
        }
        var shells: [Name] = []
        // The store gives a removed file that is open a name of its own: the folder is empty all the same.
        for entry in entries where !entry.name.isOfRemovedFile {
            switch BackingName(entry.name.bytes) {
            case .reserved, .temporary, .sidecar: continue
            case .entry, .longEntry:
                guard isShell(entry.name, entry.kind, in: folder) else { throw .system(.ENOTEMPTY) }
                shells.append(entry.name)
            case .foreign: throw .system(.ENOTEMPTY)
            }
        }
        for shell in shells { try removeShell(shell, in: folder) }
        let tombstone = Name.temporary()
        if noting {
            let journal = try backing { () throws(Errno) in try openJournal() }
            journal.tombstones.add(1, ordering: .relaxed)
        }
        do throws(VaultError) {
            if noting { try noteTombstone(tombstone, of: stored, in: parent) }
            try backing { () throws(Errno) in
                try store.rename(stored.name, in: parent.descriptor, to: tombstone, in: parent.descriptor, flags: 0)
            }
        } catch {
            if noting { forgetTombstone(flushing: parent) }
            throw error
        }
        return tombstone
    }

    private func noteTombstone(_ tombstone: Name, of stored: StoredName, in parent: Directory) throws(VaultError) {
        let room = Journal.room(records: 1, payload: JournalRecord.largestPayload)
        try makeRoom(room)
        defer { giveBackRoom(room) }
        try backing { () throws(Errno) in
            let path = parent.descriptor === store.root ? [] : try store.path(of: parent.descriptor)
            let note = TombstoneNote(path: path, tombstone: tombstone.bytes, name: stored.name.bytes).encoded
            let journal = try openJournal()
            // The record belongs to no file. It counts only until the folder is synced, so it keeps no part in use.
            let extent = try unsafe journal.append(
                JournalRecord(.tombstone, of: .zero, payloadCount: note.count), of: .none, note.span.bytes)
            try journal.flush(upTo: extent.sequence)
        }
    }

    /// The journal may forget that a directory was moved aside: it is durable what its name leads to.
    func forgetTombstone() {
        journal.withLock { $0 }?.tombstones.subtract(1, ordering: .relaxed)
    }

    /// The same after a failure, if that can be made durable. If not, each later flush of the folder fails too, and the
    /// journal does not shrink any more.
    func forgetTombstone(flushing parent: Directory) {
        if (try? flush(folder: parent.descriptor)) != nil { forgetTombstone() }
    }

    /// Removes a tombstone. A failure leaves an orphan, so it is not reported. If the store keeps a removed file in it
    /// that is open, it goes once that is closed.
    func removeTombstone(_ tombstone: Name, in parent: Directory) {
        retryTombstones()
        if !options.isPrivileged { try? store.setMode(0o700, of: tombstone, in: parent.descriptor) }
        forgetFailure(ofFolder: tombstone, in: parent.descriptor)
        do throws(Errno) {
            try store.unlinkTree(tombstone, in: parent.descriptor) { $0.isOfRemovedFile }
        } catch {
            guard [.ENOTEMPTY, .EEXIST, .EBUSY].contains(error) else { return }
            left.tombstones.add(tombstone, in: parent)
        }
    }

    /// Removes the tombstones whose files are closed by now.
    private func retryTombstones() {
        guard !left.tombstones.isEmpty else { return }
        left.tombstones.retry { (try? store.removeDirectory($0, in: $1.descriptor)) != nil }
    }

    /// At the end, when all files are closed: the store hears of the last close a moment later.
    func removeLeftTombstones() {
        for attempt in 0..<10 where !left.tombstones.isEmpty {
            if attempt > 0 { usleep(20_000) }
            retryTombstones()
        }
    }

    /// Renames something new to its name, which must be free.
    package func renameFresh(_ temporary: Name, to name: Name, in directory: Directory) throws(VaultError) {
        try renameFresh(temporary, to: name, in: directory.descriptor)
    }

    package func renameFresh(_ temporary: Name, to name: Name, in folder: Descriptor) throws(VaultError) {
        try renameFresh(temporary, in: folder, to: name, in: folder)
    }

    /// `EEXIST` if the name is taken; then nothing has changed.
    package func renameFresh(
        _ old: Name, in folder: Descriptor, to name: Name, in newFolder: Descriptor
    ) throws(VaultError) {
        try backing { () throws(Errno) in
            do throws(Errno) {
                try store.rename(old, in: folder, to: name, in: newFolder, flags: RENAME_NOREPLACE)
            } catch {
                guard error == .EINVAL || error == .ENOSYS || error == .EOPNOTSUPP else { throw error }
                // NFS and others cannot guarantee it. Only this process makes names in the vault, so looking first is
                // enough.
                if (try? store.status(of: name, in: newFolder)) != nil { throw .EEXIST }
                try store.rename(old, in: folder, to: name, in: newFolder, flags: 0)
            }
        }
    }
}

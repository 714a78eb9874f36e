import Crypto
import Format
import Glibc
import Posix
import Store

// In a vault that has become a synchronised one, records of directories that are still symbolic links become files: a
// program that copies the vault may leave links out. docs/FORMAT.md, "Synchronised vaults".

/// What was done to the directory records of a vault.
public struct RecordLinks: Hashable, Sendable {
    /// How many links have become files.
    public internal(set) var made = 0
    /// How many folders could not be looked into; their records may still be links.
    public internal(set) var unseen = 0
    /// Why, for the first of them.
    public internal(set) var reason: VaultError?
}

extension Vault {
    /// Whether a directory's record is a symbolic link, in the whole vault. Changes nothing.
    public func hasRecordLinks() throws(VaultError) -> Bool {
        var found = false
        var ignored = RecordLinks()
        try walkFolders(&ignored) { (_, folder) throws(VaultError) in
            for name in [Name.directoryRecord, .newDirectoryRecord] where try recordLink(name, in: folder) != nil {
                found = true
            }
            return !found
        }
        return found
    }

    /// Makes files of all directory records that are symbolic links, with the same bytes: so no key, ID or name binding
    /// counts, and a record that is damaged stays as it is. Each file is durable before it takes the link's place. The
    /// vault is a synchronised one, whose readers take both, and its session has begun.
    ///
    /// - Throws: what stops it, such as a full disk. What was done stays, and a second call does the rest.
    public func makeRecordsFiles() throws(VaultError) -> RecordLinks {
        precondition(isSynchronised && !isReadOnly)
        var links = RecordLinks()
        var made = 0
        try walkFolders(&links) { (_, folder) throws(VaultError) in
            for name in [Name.directoryRecord, .newDirectoryRecord] {
                guard let text = try recordLink(name, in: folder) else { continue }
                try makeRecordFile(name, text, in: folder)
                made += 1
            }
            return true
        }
        links.made = made
        return links
    }

    /// Makes a file of the root's record, before a session changes anything else: by that, a program without the keybag
    /// knows that the vault became a synchronised one. If the disk is full, the next session does it.
    func makeRootRecordFile() {
        guard isSynchronised, let text = try? recordLink(.directoryRecord, in: store.root) else { return }
        try? makeRecordFile(.directoryRecord, text, in: store.root)
    }

    /// Removes the journal from before the vault became a synchronised one, if all that it had is in place. This
    /// machine has one of its own: its session has begun.
    public func removeEarlierJournal() throws(VaultError) {
        guard isSynchronised, isOpen, let old = try? RecoveryJournal(of: self, named: .journal), old.head.opened == 0
        else { return }
        try backing { () throws(Errno) in
            try store.unlink(.journal, in: store.root)
            try store.synchronize(store.root, dataOnly: false)
        }
    }

    /// Whether there is a journal from before the vault became a synchronised one, which is of no use to this machine,
    /// or with which its next session begins. That of a session that has not ended, as a program may bring it from
    /// another machine, stays for that machine.
    public var hasEarlierJournal: Bool {
        guard isSynchronised, let old = try? RecoveryJournal(of: self, named: .journal) else { return false }
        return old.head.opened == 0 || foundJournalName == .journal
    }

    /// The text of a record that is a symbolic link; nil if there is none, or another link.
    private func recordLink(_ name: Name, in folder: Descriptor) throws(VaultError) -> [UInt8]? {
        let text: [UInt8]
        do throws(VaultError) {
            text = try withOwnerPermissions(0o100, of: .file(folder)) { () throws(VaultError) in
                try backing { () throws(Errno) in try store.readSymbolicLink(name, in: folder) }
            }
        } catch {
            guard error == .system(.ENOENT) || error == .system(.EINVAL) else { throw error }
            return nil
        }
        guard text.count == DirectoryRecord.sealedTextCount, Base64URL.decode(text) != nil else { return nil }
        return text
    }

    private func makeRecordFile(_ name: Name, _ text: [UInt8], in folder: Descriptor) throws(VaultError) {
        try changingRecords(in: folder) { () throws(Errno) in
            try keepingTimes(of: folder) { () throws(Errno) in
                let link = try store.status(of: name, in: folder)
                let temporary = Name.temporary()
                let file = try create(temporary: temporary, in: folder, mode: 0o600)
                do throws(Errno) {
                    try unsafe store.write(text.span.bytes, to: file, at: 0)
                    // Root may do this for another user, whose daemon has to read it.
                    if link.owner != geteuid() { try store.setOwner(user: link.owner, group: link.group, of: file) }
                    try? store.setTimeApart(of: file, from: name, in: folder)
                    try store.synchronize(file, dataOnly: false)
                    try store.rename(temporary, in: folder, to: name, in: folder, flags: 0)
                } catch {
                    try? store.unlink(temporary, in: folder)
                    throw error
                }
            }
        }
    }

    // MARK: The walk

    /// A folder whose record opens, or one that is only known by its backing name.
    private enum Place {
        case directory(Directory)
        case folder(Descriptor)

        var descriptor: Descriptor {
            switch self {
            case .directory(let directory): directory.descriptor
            case .folder(let folder): folder
            }
        }
    }

    /// Visits all folders of the vault, the root first, each before those in it, until `visit` returns false. In a
    /// session, a directory is opened by its name first, which removes what crashes have left in it: `visit` may change
    /// the folder's time of change, by which that is found. Works without recursion; a folder stays open as long as
    /// folders in it wait.
    private func walkFolders(
        _ links: inout RecordLinks, _ visit: (Place, Descriptor) throws(VaultError) -> Bool
    ) throws(VaultError) {
        var pending: [(parent: Place?, name: Name)] = [(nil, .current)]
        while let (parent, name) = pending.popLast() {
            let place: Place
            let entries: [DirectoryEntry]
            do throws(VaultError) {
                guard let found = try self.place(name, in: parent) else { continue }
                place = found
                entries = try backingEntries(of: place.descriptor)
            } catch {
                // One that is not the vault's, such as a file system's lost+found, may not be open to this user.
                if BackingName(name.bytes) == .foreign, error == .system(.EACCES) || error == .system(.EPERM) {
                    continue
                }
                // Without descriptors or memory, no other one will do.
                if [.system(.EMFILE), .system(.ENFILE), .system(.ENOMEM)].contains(error) || parent == nil {
                    throw error
                }
                links.unseen += 1
                links.reason = links.reason ?? error
                continue
            }
            // Of others' folders, only those that were a directory of the vault.
            let hasRecord = entries.contains { $0.name == .directoryRecord || $0.name == .newDirectoryRecord }
            guard parent == nil || hasRecord || BackingName(name.bytes) != .foreign else { continue }
            guard try visit(place, place.descriptor) else { return }
            for entry in entries {
                switch BackingName(entry.name.bytes) {
                case .entry, .longEntry, .foreign: break
                case .reserved, .temporary, .sidecar: continue
                }
                if entry.kind == nil || entry.kind == .directory { pending.append((place, entry.name)) }
            }
        }
    }

    /// Nil if it was removed.
    private func place(_ stored: Name, in parent: Place?) throws(VaultError) -> Place? {
        guard let parent else {
            return isOpen ? .directory(try readRoot()) : .folder(store.root)
        }
        if case .directory(let directory) = parent, isOpen, let name = plainName(of: stored, in: directory),
            let opened = try? openDirectory(name, in: directory)
        {
            return .directory(opened)
        }
        do throws(VaultError) {
            // The mode of the folder above may keep its owner from searching it.
            let folder = try pin(stored, in: parent.descriptor, O_DIRECTORY)
            return try withOwnerPermissions(0o500, of: .file(folder)) { () throws(VaultError) in
                .folder(try backing { () throws(Errno) in try store.reopen(folder, OpenFlags.directory) })
            }
        } catch {
            // No directory, or nothing.
            guard error.isAbsence else { throw error }
            return nil
        }
    }
}

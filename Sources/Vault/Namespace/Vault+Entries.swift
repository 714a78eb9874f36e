import Crypto
import Format
import Glibc
import Posix
import Store
import Writeback

extension Vault {
    /// Looks a name up. Opens a directory; reads a file's header, which must be bound to this name.
    public func lookup(_ name: Name, in parent: Directory) throws(VaultError) -> FoundEntry {
        let stored = try storedName(name, in: parent).name
        return try lookup(name, in: parent, stored, try backingStatus(of: .entry(stored, in: parent.descriptor)))
    }

    /// Looks a name up. Of a file it reads the summary alone, if that is valid.
    public func lookupInBrief(_ name: Name, in parent: Directory) throws(VaultError) -> BriefEntry {
        try lookupInBrief(name, in: parent, try storedName(name, in: parent).name)
    }

    /// Looks up an entry of a listing. Of a file it reads the summary alone, if that is valid.
    public func lookupInBrief(_ entry: ListedEntry, in parent: Directory) throws(VaultError) -> BriefEntry {
        try lookupInBrief(entry.name, in: parent, entry.stored)
    }

    private func lookupInBrief(
        _ name: Name, in parent: Directory, _ stored: Name
    ) throws(VaultError) -> BriefEntry {
        let own = try backingStatus(of: .entry(stored, in: parent.descriptor))
        if let (status, summary) = summarized(own, stored, name, in: parent) { return .summarized(status, summary) }
        return .whole(try lookup(name, in: parent, stored, own))
    }

    /// - Parameter status: of the entry's backing inode.
    private func lookup(
        _ name: Name, in parent: Directory, _ stored: Name, _ status: FileStatus
    ) throws(VaultError) -> FoundEntry {
        // The kernel revalidates a known name without the directory's lock, so the name may become another inode's
        // between two of our calls.
        var status = status
        var failure = VaultError.system(.ESTALE)
        var unchanged = 0
        for turn in 0..<Self.mostLookups {
            do throws(VaultError) {
                if let found = try lookUpOnce(name, in: parent, stored, status, believingStamps: turn > 0) {
                    return found
                }
                failure = .system(.ESTALE)
            } catch {
                switch error {
                case .damaged, .system(.ELOOP), .system(.ENOTDIR), .system(.EISDIR), .system(.EINVAL), .system(.ENXIO):
                    failure = error
                default: throw error
                }
            }
            let latest = try backingStatus(of: .entry(stored, in: parent.descriptor))
            // The time of change has the resolution of a clock tick: two changes may show the same time.
            unchanged = latest.inode == status.inode && latest.changed == status.changed ? unchanged + 1 : 0
            if unchanged == 3 { break }
            status = latest
        }
        throw failure
    }

    /// How often a lookup is tried again while the name becomes another inode's each time.
    private static let mostLookups = 100

    /// Nil if the name became another inode's after its status was read, or its file was written to.
    ///
    /// - Parameter believingStamps: accept a time of modification with a stamp that is not the header's: another
    ///   program may have set it.
    private func lookUpOnce(
        _ name: Name, in parent: Directory, _ stored: Name, _ own: FileStatus, believingStamps: Bool
    ) throws(VaultError) -> FoundEntry? {
        var status = own
        guard !isHidden(stored, status.kind, in: parent) else { throw .system(.ENOENT) }
        switch status.kind {
        case .directory:
            let directory = try openDirectory(name, in: parent)
            return FoundEntry(status: status, details: .directory(directory))
        case .regular:
            let binding = binding(of: name, in: parent)
            if let file = fileInMemory(inode: status.inode, at: binding) {
                status = try file.status(of: .entry(stored, in: parent.descriptor))
                return status.inode == own.inode ? FoundEntry(status: status, details: .file(file.header)) : nil
            }
            let descriptor = try openBacking(stored, in: parent)
            let opened = try backing { () throws(Errno) in try store.status(of: descriptor) }
            guard opened.inode == status.inode else { return nil }
            let header = try readHeader(of: descriptor, foundAt: binding)
            if let file = files[FileIdentity(identifier: header.file, inode: status.inode)] {
                status = try file.status(of: .entry(stored, in: parent.descriptor))
                return status.inode == opened.inode ? FoundEntry(status: status, details: .file(file.header)) : nil
            }
            // The header was written after the status was read: the stamp is that of an earlier header.
            if status.modified.nanoseconds == 0, status.modified.seconds != header.stamp, !believingStamps {
                return nil
            }
            let overlay = overlay(of: header, inode: status.inode)
            _ = try staleness(
                of: overlay?.header ?? header,
                FoundPlace(
                    name: name, stored: stored, parent: parent, binding: binding, inode: status.inode,
                    descriptor: descriptor))
            var latest = header
            status.modified = header.shownTime(of: status.modified)
            status.changed = header.shownChange(of: status.changed)
            if let overlay {
                latest = overlay.header ?? header
                status.modified = overlay.modified ?? status.modified
                status.changed = overlay.changed ?? status.changed
            }
            status.size = Int64(latest.provisionalLength)
            return FoundEntry(status: status, details: .file(latest.resolved(at: binding)))
        case .symbolicLink:
            status.size = try targetLength(of: stored, status, in: parent.descriptor)
            return FoundEntry(status: status, details: .other)
        default:
            return FoundEntry(status: status, details: .other)
        }
    }

    /// The metadata of an entry that is not a regular file.
    public func status(of name: Name, in parent: Directory) throws(VaultError) -> FileStatus {
        let stored = try storedName(name, in: parent)
        var status = try backingStatus(of: .entry(stored.name, in: parent.descriptor))
        if status.kind == .symbolicLink {
            status.size = try targetLength(of: stored.name, status, in: parent.descriptor)
        }
        return status
    }

    /// The kind of an entry, which may be damaged.
    public func kind(of name: Name, in parent: Directory) throws(VaultError) -> FileKind? {
        let stored = try storedName(name, in: parent)
        return try backingStatus(of: .entry(stored.name, in: parent.descriptor)).kind
    }

    /// The metadata of a directory.
    public func status(of directory: Directory) throws(VaultError) -> FileStatus {
        try backingStatus(of: .file(directory.descriptor))
    }

    /// The birth time of a file or directory, nil if the backing store has none. In a copied vault it is that of the
    /// copy.
    public func birthTime(_ owner: AttributeOwner) throws(VaultError) -> Timespec? {
        try backing { () throws(Errno) in try store.birthTime(owner.descriptor) }
    }

    /// The birth time of any other entry.
    public func birthTime(_ name: Name, in parent: Directory) throws(VaultError) -> Timespec? {
        let stored = try storedName(name, in: parent)
        return try backing { () throws(Errno) in try store.birthTime(stored.name, in: parent.descriptor) }
    }

    /// The entries of the directory, in the store's order, without foreign names and orphans.
    ///
    /// - Parameter isWanted: of an entry's inode number; the others are left out.
    public func entries(
        of directory: Directory, where isWanted: (UInt64) -> Bool = { _ in true }
    ) throws(VaultError) -> [ListedEntry] {
        try directory.refuseStale()
        return try allEntries(of: directory, where: isWanted)
    }

    /// The same of a directory that may be refused.
    func allEntries(
        of directory: Directory, where isWanted: (UInt64) -> Bool = { _ in true }
    ) throws(VaultError) -> [ListedEntry] {
        let entries = try backingEntries(of: directory.descriptor)
        let tombstones = tombstones(in: directory.descriptor)
        var hasConflictCopies = false
        defer { directory.hasConflictCopies.store(hasConflictCopies, ordering: .relaxed) }
        return entries.compactMap { entry in
            guard isWanted(entry.inode), !isHidden(entry.name, entry.kind, in: directory) else { return nil }
            guard let name = plainName(of: tombstones[entry.name] ?? entry.name, in: directory) else {
                if !hasConflictCopies { hasConflictCopies = conflictCopy(entry.name, in: directory) != nil }
                return nil
            }
            return ListedEntry(name: name, stored: entry.name, inode: entry.inode, kind: entry.kind)
        }
    }

    /// All that a folder holds, also if its mode does not, or no longer, allow its owner to list it.
    package func backingEntries(of folder: Descriptor) throws(VaultError) -> [DirectoryEntry] {
        try withOwnerPermissions(0o500, of: .file(folder)) { () throws(VaultError) in
            try backing { () throws(Errno) in try store.entries(of: folder) }
        }
    }

    /// The backing path of an entry, from the vault's folder on; `parent` has the backing path `path`.
    public func backingPath(of name: Name, in parent: Directory, at path: String) throws(VaultError) -> String {
        let stored = try storedName(name, in: parent).name.description
        return path.isEmpty ? stored : path + "/" + stored
    }

    // MARK: Special files and links

    /// Makes a FIFO, socket or device node; `mode` holds its type.
    public func makeNode(
        _ name: Name, in parent: Directory, mode: UInt32, device: UInt64, _ ownership: Ownership
    ) throws(VaultError) {
        let stored = try storedName(name, in: parent)
        let inherited = try inheritance(ownership, in: parent, of: .fifo)
        try prepareSidecar(of: stored, in: parent)
        try makeOwned(stored, in: parent) { (name) throws(Errno) in
            try store.makeNode(name, in: parent.descriptor, mode: mode, device: device)
            do throws(Errno) { try give(node: name, in: parent.descriptor, inherited) } catch {
                try? store.unlink(name, in: parent.descriptor)
                throw error
            }
        }
    }

    /// Makes an entry with `make`, which also changes the owner if `isPrivileged`. Then the entry appears under its
    /// name only once it belongs to its owner.
    func makeOwned(
        _ stored: StoredName, in parent: Directory, make: (Name) throws(Errno) -> Void
    ) throws(VaultError) {
        guard options.isPrivileged else {
            do { return try make(stored.name) } catch {
                if error != .EEXIST { dropSidecar(of: stored, in: parent) }
                throw .system(error)
            }
        }
        let temporary = Name.temporary()
        do {
            try backing { () throws(Errno) in try make(temporary) }
            try renameFresh(temporary, to: stored.name, in: parent)
        } catch {
            try? store.unlink(temporary, in: parent.descriptor)
            if error != .system(.EEXIST) { dropSidecar(of: stored, in: parent) }
            throw error
        }
    }

    /// Removes the name of anything but a directory.
    public func unlink(_ name: Name, in parent: Directory) throws(VaultError) {
        _ = try unlink(name, in: parent) { _ in true }
    }

    /// Removes the name of anything but a directory if `isToGo` says so, given the backing file's status. Returns
    /// whether it did.
    ///
    /// - Parameter file: the ID of the file that has the name, if the caller knows it.
    public func unlink(
        _ name: Name, in parent: Directory, of file: @autoclosure () -> FileIdentifier? = nil,
        if isToGo: (FileStatus) throws(VaultError) -> Bool
    ) throws(VaultError) -> Bool {
        let stored = try storedName(name, in: parent)
        let status = try backingStatus(of: .entry(stored.name, in: parent.descriptor))
        guard try isToGo(status) else { return false }
        // Before the name is free: another thread may make a file of that name at once.
        if status.kind == .regular { noteTime(of: status, at: name, in: parent) }
        try replacing(status, stored, name, in: parent, isReplaced: false) { () throws(VaultError) in
            try backing { () throws(Errno) in try store.unlink(stored.name, in: parent.descriptor) }
        }
        dropSidecar(of: stored, in: parent)
        if freshness != nil, let file = file() { noteLoss(of: file, at: binding(of: name, in: parent)) }
        return true
    }

    /// Runs `body`, which takes the name away from the file that has it, if any.
    ///
    /// - Parameters:
    ///   - status: of the inode that has the name, nil if none has.
    ///   - isReplaced: `body` gives the name to another entry.
    ///   - moved: that entry, if it is a file. Its lock is held during `body`.
    func replacing(
        _ status: FileStatus?, _ stored: StoredName, _ name: Name, in parent: Directory, isReplaced: Bool,
        by moved: File? = nil, _ body: () throws(VaultError) -> Void
    ) throws(VaultError) {
        let moved = moved.map { [$0] } ?? []
        // Read before `body`; noted if that succeeds.
        let target = status.flatMap { nonce(ofLast: stored.name, $0, in: parent.descriptor) }
        defer { if let target, !isStored(target, as: stored.name, in: parent.descriptor) { noteGone(value: target) } }
        if let status, let target = longTarget(of: stored.name, status, in: parent.descriptor) {
            try File.withoutIntents(on: moved, body)
            return drop(target, in: parent)
        }
        guard let status, status.kind == .regular, !isReadOnly else {
            return try File.withoutIntents(on: moved, body)
        }
        guard status.linkCount > 1 else {
            // Read before `body`: afterwards another file may have the inode's number.
            let created = journal.withLock { $0 }?.uncommittedCreate(inode: status.inode)
            let file = files.file(ofInode: status.inode)
            let sidecar = sidecarToRemove(withLast: stored.name, status, in: parent, for: moved.first)
            // If only the journal has this file, its records must stay until the name durably belongs to the other
            // file.
            let young = isReplaced ? created.flatMap(youngFile) : nil
            // A file whose flush has failed cannot be checkpointed, so its records stay.
            let isLost = young.map { $0.flushes.failure.withLock { $0 != nil } } ?? false
            try File.withoutIntents(on: moved + (isLost ? [] : young.map { [$0] } ?? []), body)
            file?.noteRemoval(from: parent.descriptor)
            if let created, !isLost { noteRemoval(of: created) }
            if let (sidecar, file) = sidecar { drop(sidecar, of: file) }
            return
        }
        // The file keeps its other names, so it loses a binding. If it is damaged, it keeps the binding.
        let file = try? openFile(name, in: parent)
        try file?.checkpointBeforeUnlink()
        let binding = binding(of: name, in: parent)
        try File.withoutIntents(on: moved + (file.map { [$0] } ?? [])) { () throws(VaultError) in
            try body()
            file?.leave(binding, [parent.descriptor])
        }
    }

    /// The file, if a crash could leave it in the journal alone.
    private func youngFile(_ identity: FileIdentity) -> File? {
        guard let file = files[identity] else { return nil }
        return file.lock.withShared { file.state.mayLackHeader } ? file : nil
    }

    /// Gives an entry a second name. A regular file comes with its open `file`, whose header gets the second binding.
    ///
    /// - Throws: `EPERM` in a store without hard links: link(2).
    public func link(
        _ name: Name, in parent: Directory, file: File?, to newName: Name, in newParent: Directory
    ) throws(VaultError) {
        guard traits.hasHardLinks else { throw .system(.EPERM) }
        try newParent.refuseStale()
        let ends = [
            ConcurrentRenames.Renamed(name: name, parent: parent),
            ConcurrentRenames.Renamed(name: newName, parent: newParent),
        ]
        try order.renames.noting(file == nil ? [] : ends) { () throws(VaultError) in
            try linkEntry(name, in: parent, file: file, to: newName, in: newParent)
        }
    }

    private func linkEntry(
        _ name: Name, in parent: Directory, file: File?, to newName: Name, in newParent: Directory
    ) throws(VaultError) {
        let old = try storedName(name, in: parent)
        let new = try storedName(newName, in: newParent)
        try prepareSidecar(of: new, in: newParent)
        if file == nil { try keepLongTarget(of: old.name, in: parent.descriptor) }
        file?.passTime(at: binding(of: newName, in: newParent))
        let move = try file?.beginMove(
            to: binding(of: newName, in: newParent), in: newParent.identifier, taking: nil, replacing: nil,
            isRename: false)
        do throws(VaultError) {
            try backing { () throws(Errno) in
                try store.link(old.name, in: parent.descriptor, to: new.name, in: newParent.descriptor)
            }
        } catch {
            if let file, let move { try? file.cancelMove(move) }
            throw error
        }
        file?.noteName(in: newParent.descriptor)
        if let file { noteName(of: file, at: binding(of: newName, in: newParent)) }
    }

    // MARK: Metadata

    public func setMode(_ mode: UInt32, of name: Name, in parent: Directory) throws(VaultError) {
        let stored = try storedName(name, in: parent)
        try setMode(mode, ofNode: stored.name, in: parent.descriptor)
    }

    public func setOwner(user: UInt32?, group: UInt32?, of name: Name, in parent: Directory) throws(VaultError) {
        let stored = try storedName(name, in: parent)
        try changeBacking(.setOwner(user: user, group: group, of: .entry(stored.name, in: parent.descriptor)))
    }

    /// Sets the times of an entry that is not a regular file.
    public func setTimes(
        accessed: TimeChange, modified: TimeChange, of name: Name, in parent: Directory
    ) throws(VaultError) {
        let stored = try storedName(name, in: parent)
        try backing { () throws(Errno) in
            try store.setTimes(accessed: accessed, modified: modified, of: stored.name, in: parent.descriptor)
        }
    }

    /// Changes a directory by its handle, because the root has no name.
    public func setMode(_ mode: UInt32, of directory: Directory) throws(VaultError) {
        try setMode(mode, of: AttributeOwner.directory(directory).subject)
    }

    public func setOwner(user: UInt32?, group: UInt32?, of directory: Directory) throws(VaultError) {
        try changeBacking(.setOwner(user: user, group: group, of: .file(directory.descriptor)))
    }

    public func setTimes(accessed: TimeChange, modified: TimeChange, of directory: Directory) throws(VaultError) {
        try backing { () throws(Errno) in
            try store.setTimes(accessed: accessed, modified: modified, of: directory.descriptor)
        }
    }
}

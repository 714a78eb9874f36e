import Format
import Freshness
import Posix
import Store

// The generation of a directory record grows with each change of the directory's class or name. Nothing is remembered
// of a directory that was never changed: no record can be older.

extension Vault {
    /// A record that is newer than one of a directory, and than all that this machine has seen under a name. In a vault
    /// of an earlier version, whose records have no generations, it has none either.
    func successor(of record: DirectoryRecord, at binding: NameBinding) -> DirectoryRecord {
        guard traits.numbersDirectories || record.generation > 0 else { return record }
        var record = record
        let seen = freshness?.marks[MarkKey(record.directory, at: binding)]?.generation ?? 0
        record.generation = min(max(record.generation, seen) + 1, DirectoryRecord.highestGeneration)
        return record
    }

    /// Of a record in place of one that was lost: higher than that one's, which programs have raised by 1 each time.
    package var generationOfRebuiltRecord: UInt64 {
        traits.numbersDirectories ? .random(in: 1 << 31..<1 << 32) : 0
    }

    /// The record of a directory was changed.
    func noteRecord(of directory: Directory) {
        guard let freshness else { return }
        let (record, binding) = directory.state.withLock { state in
            state.older = nil
            return (state.record, state.binding)
        }
        let key = MarkKey(record.directory, at: binding)
        if freshness.remembers, record.generation > 0 {
            freshness.marks.note(Mark(record, time: Marks.now), of: key, isOwn: true)
        }
        freshness.accepted(key)
    }

    /// A directory was renamed; it had this record under its old name.
    func noteMove(of directory: Directory, _ old: DirectoryRecord, from binding: NameBinding) {
        guard let freshness else { return }
        let key = MarkKey(old.directory, at: binding)
        // Without generations, a directory that another machine renames back would look like an old one.
        guard directory.record.generation > old.generation else { return }
        noteRecord(of: directory)
        if freshness.remembers { freshness.marks.noteGone(old, of: key) }
        freshness.accepted(key)
    }

    /// A directory that is about to go, if anything is to be done with it then.
    func openToRemove(_ name: Name, in parent: Directory) -> Directory? {
        let hasSidecars = (try? attributeFolder.descriptor) != nil
        return freshness != nil || hasSidecars ? try? openDirectory(name, in: parent) : nil
    }

    /// A directory was removed. If it is remembered, only a later record belongs there.
    func noteRemoval(of directory: Directory?) {
        guard let freshness, let directory else { return }
        let key = directory.markKey
        if freshness.remembers { freshness.marks.noteGone(key, generation: nil, time: Marks.now) }
        freshness.accepted(key)
    }

    /// Compares a directory that was just opened.
    ///
    /// - Throws: `ESTALE` if another thread has renamed it meanwhile.
    func compare(_ directory: Directory, foundAs name: Name, _ stored: Name, in parent: Directory) throws(VaultError) {
        guard let freshness, let stale = try staleness(of: directory, .init(name, stored, parent)) else { return }
        freshness.tell(stale)
        directory.state.withLock { $0.older = Directory.Older(stale: stale, isRefused: freshness.answer == .refuse) }
    }

    /// The same of the root, which has no name.
    func compareRoot(_ root: Directory) throws(VaultError) {
        guard let freshness, let stale = try staleness(of: root, nil) else { return }
        freshness.tell(stale)
        root.state.withLock { $0.older = Directory.Older(stale: stale, isRefused: freshness.answer == .refuse) }
    }

    /// What this machine remembers of the root tells of something newer; nil if it does not.
    public func staleness(ofRoot root: Directory) throws(VaultError) -> StaleObject? {
        if let stale = try staleness(of: root, nil) { return stale }
        return staleAttribute(of: AttributeOwner.directory(root).subject)
    }

    /// Where a directory was found.
    struct DirectoryPlace {
        let name: Name
        let stored: Name
        let parent: Directory

        init(_ name: Name, _ stored: Name, _ parent: Directory) {
            (self.name, self.stored, self.parent) = (name, stored, parent)
        }
    }

    /// What this machine remembers of a directory tells of something newer; nil if it does not.
    func staleness(of directory: Directory, _ place: DirectoryPlace?) throws(VaultError) -> StaleObject? {
        guard let freshness else { return nil }
        var (record, binding) = directory.state.withLock { ($0.record, $0.binding) }
        // Two machines may have renamed a directory apart from each other, and a record does not tell which of them has
        // written it.
        guard traits.numbersDirectories || record.generation > 0, !isSynchronised else { return nil }
        let key = MarkKey(record.directory, at: binding)
        let notes = freshness.remembers && !isReadOnly && record.generation > 0
        guard var known = freshness.marks.meet(Mark(record, time: Marks.now), at: key, isNoted: notes) else {
            return nil
        }
        // Another thread may have changed the record, or moved the directory, after this one has read the record. What
        // is remembered is written before it is noted, so a record that is read after that is as new at least.
        while !isReadOnly {
            guard let noted = freshness.marks[key] else { return nil }
            if let place {
                let inode = try backingStatus(of: .entry(place.stored, in: place.parent.descriptor)).inode
                guard try backingStatus(of: .file(directory.descriptor)).inode == inode else {
                    throw .system(.ESTALE)
                }
            }
            record = try latestRecord(at: binding, in: directory.descriptor)
            if noted.verdict(on: Mark(record, time: Marks.now)).isFresh {
                directory.state.withLock { $0.record = record }
                return nil
            }
            known = noted
            if freshness.marks[key].map({ $0 == noted }) ?? true { break }
        }
        return StaleObject(
            kind: .directory, verdict: known.verdict(on: Mark(record, time: Marks.now)), remembered: known,
            written: nil,
            place: try self.place(of: directory, place), key: key)
    }

    private func place(
        of directory: Directory, _ place: DirectoryPlace?
    ) throws(VaultError) -> StaleObject.Place {
        if let place { return .entry(place.name, stored: place.stored, in: place.parent.identifier) }
        return .inode(try backingStatus(of: .file(directory.descriptor)).inode)
    }

    private func latestRecord(at binding: NameBinding, in folder: Descriptor) throws(VaultError) -> DirectoryRecord {
        try withOwnerPermissions(0o500, of: .file(folder)) { () throws(VaultError) in
            do throws(VaultError) { return try readRecord(.directoryRecord, at: binding, in: folder) } catch {
                guard case .damaged = error,
                    let record = try? readRecord(.newDirectoryRecord, at: binding, in: folder)
                else { throw error }
                return record
            }
        }
    }

    /// A directory is there on purpose: its record becomes newer than all that was seen.
    public func accept(_ directory: Directory) throws(VaultError) {
        guard let freshness else { return }
        try acceptAttributes(of: AttributeOwner.directory(directory).subject)
        var isOlder = directory.older != nil
        if !isOlder {
            // Its record may have been put back since it was opened.
            let binding = directory.state.withLock { $0.binding }
            let record = try latestRecord(at: binding, in: directory.descriptor)
            isOlder =
                freshness.marks[directory.markKey].map { !$0.verdict(on: Mark(record, time: Marks.now)).isFresh }
                ?? false
            if isOlder { directory.state.withLock { $0.record = record } }
        }
        guard isOlder else { return }
        guard !isReadOnly else { throw .system(.EROFS) }
        try replaceRecord(of: directory)
    }
}

extension Directory {
    /// Under which its record is remembered.
    package var markKey: MarkKey { state.withLock { MarkKey($0.record.directory, at: $0.binding) } }

    /// What it means for a directory that its record is older than what this machine has seen.
    struct Older {
        let stale: StaleObject
        /// What is in it is not listed, and nothing is made in it, until it is accepted.
        let isRefused: Bool

        /// The class that this machine has seen.
        var seenClass: ProtectionClass { stale.remembered.protectionClass }
    }

    /// Nil if the record is as new as what this machine has seen.
    package var older: StaleObject? { state.withLock { $0.older?.stale } }

    /// Its record is as it should be.
    public func didAccept() { state.withLock { $0.older = nil } }

    /// Throws if the directory is refused because its record is older than what this machine has seen.
    func refuseStale() throws(VaultError) {
        guard let older = state.withLock({ $0.older }), older.isRefused else { return }
        throw .stale("\(older.stale.reason)")
    }
}

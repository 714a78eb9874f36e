import Format
import Freshness
import Posix
import Store

extension Vault {
    /// Where a file was found.
    struct FoundPlace {
        let name: Name
        let stored: Name
        let parent: Directory
        let binding: NameBinding
        let inode: UInt64
        let descriptor: Descriptor
    }

    /// Compares a header with what this machine remembers, and remembers it. Nil if it is as new.
    ///
    /// - Parameter header: as it counts: in a read-only vault, the journal's.
    func staleness(of header: FileHeader, _ place: FoundPlace) throws(VaultError) -> StaleObject? {
        guard let freshness else { return nil }
        let key = MarkKey(header.file, at: place.binding)
        var found = Mark(header, time: Marks.now)
        var written = header.written.seconds
        var machine = header.machine
        var known: Mark
        if let seen = seenVersion(found, by: machine, at: key) {
            known = seen
        } else {
            let isNoted = freshness.remembers && !isReadOnly
            guard let newer = freshness.marks.meet(found, at: key, isNoted: isNoted) else {
                noteVersion(found, by: machine, at: key, isOwn: false)
                return nil
            }
            if isUnseenVersion(found, by: machine, at: key) {
                let counts = isReadOnly ? true : try isThere(place)
                guard counts else { return nil }
                takeVersion(found, by: machine, at: key)
                return nil
            }
            known = newer
        }
        // Another thread may have written the header, or moved the file, after this one has read the header. What is
        // remembered is written before it is noted, so a header that is read after that is as new at least.
        while !isReadOnly {
            guard let noted = freshness.marks[key] else { return nil }
            guard try isThere(place) else { return nil }
            let again = try readHeader(of: place.descriptor)
            guard again.file == header.file else { return nil }
            found = Mark(again, time: Marks.now)
            (written, machine) = (again.written.seconds, again.machine)
            let seen = seenVersion(found, by: machine, at: key)
            if seen == nil, noted.verdict(on: found).isFresh { return nil }
            known = seen ?? noted
            if freshness.marks[key] == noted { break }
        }
        let verdict = known.verdict(on: found)
        let stale = StaleObject(
            kind: .file, verdict: verdict.isFresh ? .older : verdict, remembered: known, written: written,
            place: .entry(place.name, stored: place.stored, in: place.parent.identifier), key: key)
        freshness.tell(stale)
        return stale
    }

    private func isThere(_ place: FoundPlace) throws(VaultError) -> Bool {
        do throws(VaultError) {
            return try backingStatus(of: .entry(place.stored, in: place.parent.descriptor)).inode == place.inode
        } catch {
            guard error == .system(.ENOENT) else { throw error }
            return false
        }
    }

    /// Compares a file in memory that was found under a name.
    func compare(_ file: File, foundAs name: Name, _ stored: Name, in parent: Directory) throws(VaultError) {
        guard let freshness else { return }
        let key = MarkKey(file.identifier, at: binding(of: name, in: parent))
        let met = try file.meet(key) { () throws(VaultError) in
            try backingStatus(of: .entry(stored, in: parent.descriptor)).inode == file.identity.inode
        }
        guard let met else { return }
        let stale = StaleObject(
            kind: .file, verdict: met.remembered.verdict(on: met.found), remembered: met.remembered,
            written: file.header.written.seconds, place: .entry(name, stored: stored, in: parent.identifier), key: key)
        freshness.tell(stale)
        file.found(stale, refusing: freshness.answer == .refuse)
    }

    /// The class of a file under a name, or the one that this machine has seen there if that is stricter: an older
    /// header may have a weaker one.
    func strictest(_ protectionClass: ProtectionClass, of file: FileIdentifier, at binding: NameBinding)
        -> ProtectionClass
    {
        guard let known = freshness?.marks[MarkKey(file, at: binding)], !known.isGone,
            known.protectionClass.isStricter(than: protectionClass)
        else { return protectionClass }
        return known.protectionClass
    }

    /// Whether a summary is as new as what this machine remembers. If not, the header tells. A summary is not
    /// remembered: a crash may leave one that is newer than the header.
    func isFresh(_ summary: FileSummary, at binding: NameBinding) -> Bool {
        guard let freshness else { return true }
        return !freshness.marks.surpass(summary.generation, at: MarkKey(summary.file, at: binding))
    }

    /// The file under a name is the right one, whatever this machine has seen: its next header is newer than all.
    public func accept(_ name: Name, in parent: Directory) throws(VaultError) {
        guard let freshness else { return }
        let stored = try storedName(name, in: parent).name
        guard try backingStatus(of: .entry(stored, in: parent.descriptor)).kind == .regular else {
            return try acceptOther(name, stored, in: parent)
        }
        let isStale = try fileStaleness(of: name, in: parent) != nil
        guard !isReadOnly || !isStale else { throw .system(.EROFS) }
        let file = try openFile(name, in: parent)
        try acceptAttributes(of: AttributeOwner.file(file).subject)
        let key = MarkKey(file.identifier, at: binding(of: name, in: parent))
        // If its key is not in memory, any of its blocks may be older.
        if isStale || file.hasOlderBlock() ?? true { file.forgetBounds() }
        guard isStale || file.marks.isRefused.load(ordering: .relaxed) else { return }
        try file.surpass(freshness.marks[key]?.generation ?? 0)
        file.noteName(key)
        freshness.accepted(key)
    }

    private func acceptOther(_ name: Name, _ stored: Name, in parent: Directory) throws(VaultError) {
        if let stale = try linkStaleness(of: name, stored, in: parent) {
            guard let freshness, freshness.remembers else { throw .system(.EROFS) }
            freshness.marks.accept(value: stale.key)
            freshness.accepted(stale.key)
        }
        guard hasNodeAttributes else { return }
        try acceptAttributes(of: AttributeOwner.node(try openNode(name, in: parent)).subject)
    }

    /// What this machine remembers of what has a name tells of something newer; nil if it does not.
    public func staleness(of name: Name, in parent: Directory) throws(VaultError) -> StaleObject? {
        guard freshness != nil else { return nil }
        let stored = try storedName(name, in: parent).name
        switch try backingStatus(of: .entry(stored, in: parent.descriptor)).kind {
        case .regular:
            if let stale = try fileStaleness(of: name, in: parent) { return stale }
            return staleAttribute(of: AttributeOwner.file(try openFile(name, in: parent)).subject)
        case .directory:
            let directory = try openDirectory(name, in: parent)
            if let stale = try staleness(of: directory, DirectoryPlace(name, stored, parent)) { return stale }
            return staleAttribute(of: AttributeOwner.directory(directory).subject)
        default:
            if let stale = try linkStaleness(of: name, stored, in: parent) { return stale }
            guard hasNodeAttributes else { return nil }
            return staleAttribute(of: AttributeOwner.node(try openNode(name, in: parent)).subject)
        }
    }

    package func linkStaleness(
        of name: Name, _ stored: Name, in parent: Directory
    ) throws(VaultError) -> StaleObject? {
        guard try backingStatus(of: .entry(stored, in: parent.descriptor)).kind == .symbolicLink else { return nil }
        let nonce = Array(try sealedTarget(stored, in: parent.descriptor).prefix(16))
        return staleness(ofValue: nonce, .symbolicLink, .entry(name, stored: stored, in: parent.identifier))
    }

    private func fileStaleness(of name: Name, in parent: Directory) throws(VaultError) -> StaleObject? {
        guard freshness != nil else { return nil }
        let stored = try storedName(name, in: parent).name
        let status = try backingStatus(of: .entry(stored, in: parent.descriptor))
        guard status.kind == .regular else { return nil }
        let binding = binding(of: name, in: parent)
        if let file = fileInMemory(inode: status.inode, at: binding) {
            return staleness(of: file, name, stored, in: parent)
                ?? freshness?.foundBlock(MarkKey(file.identifier, at: binding))
        }
        let descriptor = try openBacking(stored, in: parent)
        let header = try readHeader(of: descriptor, foundAt: binding)
        if let file = files[FileIdentity(identifier: header.file, inode: status.inode)] {
            return staleness(of: file, name, stored, in: parent)
                ?? freshness?.foundBlock(MarkKey(header.file, at: binding))
        }
        let latest = overlay(of: header, inode: status.inode)?.header ?? header
        return try staleness(
            of: latest,
            FoundPlace(
                name: name, stored: stored, parent: parent, binding: binding, inode: status.inode,
                descriptor: descriptor)) ?? freshness?.foundBlock(MarkKey(header.file, at: binding))
    }

    /// The same of a file in memory.
    private func staleness(of file: File, _ name: Name, _ stored: Name, in parent: Directory) -> StaleObject? {
        let key = MarkKey(file.identifier, at: binding(of: name, in: parent))
        // Under the lock: the header that was written last is remembered before the lock is given back.
        return file.lock.withShared { () -> StaleObject? in
            guard let found = file.placedMark, let known = freshness?.marks[key], !known.verdict(on: found).isFresh,
                !isUnseenVersion(found, by: file.state.header.machine, at: key)
            else { return nil }
            return StaleObject(
                kind: .file, verdict: known.verdict(on: found), remembered: known,
                written: file.state.header.written.seconds,
                place: .entry(name, stored: stored, in: parent.identifier), key: key)
        }
    }

    // MARK: Names that change

    /// A file has got a name.
    func noteName(of file: File, at binding: NameBinding) {
        guard freshness != nil else { return }
        file.noteName(MarkKey(file.identifier, at: binding))
    }

    /// A file has lost a name.
    func noteLoss(of file: FileIdentifier, at binding: NameBinding) {
        guard let freshness else { return }
        let key = MarkKey(file, at: binding)
        freshness.marks.noteGone(key, generation: nil, time: Marks.now)
        freshness.accepted(key)
    }

    /// What is in the vault now is as it should be.
    public func acceptAll() throws(VaultError) {
        guard let freshness else { return }
        do throws(Errno) { try freshness.acceptAll() } catch { throw .system(error) }
        for file in files.all { file.marks.isRefused.store(false, ordering: .relaxed) }
    }
}

import Format
import Posix
import Store

// What several machines have made of one directory: docs/SHARED.md.

extension Vault {
    /// Takes in what other machines have left in a directory: versions that a synchronisation program has put aside,
    /// and entries under another directory ID, if the directory was made on two machines. Takes some of them at a time.
    ///
    /// The caller sees to it that no other request changes names meanwhile.
    ///
    /// - Returns: whether there was something, and may be more.
    public func takeIn(_ directory: Directory) throws(VaultError) -> Bool {
        guard !isReadOnly else { return false }
        try directory.refuseStale()
        let entries = try backingEntries(of: directory.descriptor)
        let hasRestored = try restoreSidecars(among: entries, in: directory)
        let hasMerged = try mergeOtherRecords(among: entries, in: directory)
        // What failed is looked for again.
        directory.isExamined.store(true, ordering: .releasing)
        if hasRestored { return true }
        return !adoptConflictCopies(among: entries, in: directory).isEmpty || hasMerged
    }

    /// Whether a name that is not there may be one that `takeIn` finds.
    public func mayTakeIn(_ directory: Directory) -> Bool {
        takesTurns && !isReadOnly && !directory.isExamined.load(ordering: .acquiring)
    }

    // MARK: Two records

    /// What knows of a directory ID under which entries may lie: a machine's copy of the record, or a record that a
    /// synchronisation program has put aside.
    private struct RecordSource {
        let name: Name
        let isPutAside: Bool
        let records: [DirectoryRecord]
    }

    private func mergeOtherRecords(
        among entries: [DirectoryEntry], in directory: Directory
    ) throws(VaultError) -> Bool {
        let sources = recordSources(among: entries, in: directory)
        var hasMerged = false
        if hasOtherNames(among: entries, in: directory) {
            var tried: Set = [directory.identifier]
            for record in sources.flatMap(\.records) where tried.insert(record.directory).inserted {
                let binding = directory.state.withLock { $0.binding }
                let source = Directory(descriptor: directory.descriptor, record: record, binding: binding)
                if try move(from: source, to: directory, depth: 0) { hasMerged = true }
            }
        }
        let putAside = sources.filter(\.isPutAside)
        // Without a copy of the record, nothing else knows of their IDs.
        guard !putAside.isEmpty, isSynchronised else { return hasMerged }
        // Later, too, a synchronisation program may bring an entry with such an ID.
        try note(putAside.flatMap(\.records), in: directory)
        for source in putAside { unlinkOwn(source.name, in: directory.descriptor) }
        return hasMerged
    }

    /// Whether there is an entry that does not have this directory's ID.
    private func hasOtherNames(among entries: [DirectoryEntry], in directory: Directory) -> Bool {
        entries.contains { entry in
            switch BackingName(entry.name.bytes) {
            case .entry, .longEntry: plainName(of: entry.name, in: directory) == nil
            case .reserved, .temporary, .sidecar, .foreign: false
            }
        }
    }

    private func recordSources(among entries: [DirectoryEntry], in directory: Directory) -> [RecordSource] {
        let (binding, folder) = (directory.state.withLock { $0.binding }, directory.descriptor)
        var sources = recordCopies(among: entries, at: binding, in: folder).map { found in
            RecordSource(
                name: .recordCopy(of: found.machine), isPutAside: false,
                records: [found.copy.record] + found.copy.others)
        }
        for entry in entries where BackingName(entry.name.bytes) == .foreign {
            for (stem, _) in ConflictCopy.stems(of: entry.name.bytes) {
                if stem == Name.directoryRecord.bytes {
                    guard let record = try? readRecord(entry.name, at: binding, in: folder) else { continue }
                    sources.append(RecordSource(name: entry.name, isPutAside: true, records: [record]))
                } else if let machine = BackingName.machine(ofRecordCopy: stem),
                    let copy = recordCopy(entry.name, of: machine, at: binding, in: folder)
                {
                    sources.append(
                        RecordSource(name: entry.name, isPutAside: true, records: [copy.record] + copy.others))
                }
            }
        }
        return sources
    }

    /// Writes the sidecars that another machine has removed, while this one or a third one has changed their entries.
    private func restoreSidecars(among entries: [DirectoryEntry], in directory: Directory) throws(VaultError) -> Bool {
        guard isSynchronised else { return false }
        let names = Set(entries.map(\.name))
        let lacking = entries.map(\.name).filter { name in
            BackingName(name.bytes) == .longEntry
                && !names.contains(Name(ascii: name.description + BackingName.sidecarSuffix))
        }
        guard !lacking.isEmpty else { return false }
        let binding = directory.state.withLock { $0.binding }
        let known = recordCopies(among: entries, at: binding, in: directory.descriptor).flatMap(\.copy.longNames)
        var hasRestored = false
        for ciphertext in known {
            let entry = longEntry(of: ciphertext)
            guard lacking.contains(entry) else { continue }
            hasRestored = true
            try backing { () throws(Errno) in
                try writeWholeFile(
                    ciphertext, at: Name(ascii: entry.description + BackingName.sidecarSuffix),
                    in: directory.descriptor)
            }
        }
        return hasRestored
    }

    /// Before a directory is moved: its entries must not have an ID that is known under its old name only.
    func takeInAll(_ directory: Directory) {
        guard mayTakeIn(directory) else { return }
        for _ in 0..<Self.mostTurns {
            guard (try? takeIn(directory)) == true else { return }
        }
    }

    private static let mostTurns = 1000

    // MARK: Moving entries

    private static let mostDepth = 64
    private static let mostMoved = 1000

    /// Moves what lies in one directory into another one.
    ///
    /// - Returns: whether an entry was moved.
    private func move(from source: Directory, to target: Directory, depth: Int) throws(VaultError) -> Bool {
        var moved = 0
        for entry in try backingEntries(of: source.descriptor) where moved < Self.mostMoved {
            guard let name = plainName(of: entry.name, in: source) else { continue }
            do throws(VaultError) {
                try move(name, entry.name, from: source, to: target, depth: depth)
                moved += 1
            } catch {
                // One that is damaged, or has not arrived as a whole, waits.
                guard !error.isFullDisk else { throw error }
            }
        }
        return moved > 0
    }

    private func move(
        _ name: Name, _ stored: Name, from source: Directory, to target: Directory, depth: Int
    ) throws(VaultError) {
        let old = try renameEnd(name, in: source)
        guard let status = old.status else { return }
        var newName = name
        if let taken = try renameEnd(name, in: target).status {
            switch (status.kind, taken.kind) {
            case (.directory, .directory) where isShell(stored, .directory, in: source.descriptor):
                // It was moved before, on this machine or another one.
                try removeShell(stored, in: source.descriptor)
                return dropSidecar(of: old.stored, in: source)
            case (.directory, .directory) where depth < Self.mostDepth:
                let (inner, outer) = (try openDirectory(name, in: source), try openDirectory(name, in: target))
                takeInAll(inner)
                takeInAll(outer)
                while try move(from: inner, to: outer, depth: depth + 1) {}
                // Not if something is left in it.
                if (try? removeDirectory(name, in: source, known: inner)) != nil { return }
            case (.regular, .regular):
                let one = FoundVersion(stored: stored, name: name, directory: source)
                let other = FoundVersion(
                    stored: try storedName(name, in: target).name, name: name, directory: target)
                if try areSameVersion(one, other) {
                    return try backing { () throws(Errno) in try store.unlink(stored, in: source.descriptor) }
                }
            default: break
            }
            newName = try freeName(for: name, ConflictCopy(changed: status.modified.seconds), in: target)
        }
        let moved: Moved =
            switch status.kind {
            case .regular: .file(try openFile(name, stored: stored, in: source, isCompared: false))
            case .directory: .directory(try openDirectory(name, in: source))
            default: .other
            }
        try keep(target, changing: newName)
        try rename(
            old, moved, to: try renameEnd(newName, in: target), replaced: nil, RenameKind(noReplace: true))
        if newName != name, case .file(let file) = moved { label(file, asVersionOf: name) }
    }

    /// A label only: the version is there without it.
    func label(_ file: File, asVersionOf name: Name) {
        let name = ConflictCopy.trueName(ofShown: name.bytes) ?? name.bytes
        try? setAttribute(
            Array(Self.conflictAttribute.utf8), to: name, flags: 0, of: AttributeOwner.file(file))
    }
}

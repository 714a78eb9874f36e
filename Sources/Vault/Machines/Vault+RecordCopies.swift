import Crypto
import Format
import Posix
import Store

// Each machine's copy of a directory's record: docs/FORMAT.md, "Synchronised vaults".

extension Name {
    /// The name of a machine's copy of a directory's record.
    static func recordCopy(of machine: MachineTag) -> Name { Name(ascii: BackingName.recordCopyPrefix + "\(machine)") }
}

/// A copy of a directory's record that was found.
package struct FoundRecordCopy {
    package let machine: MachineTag
    package let copy: RecordCopy
}

extension Vault {
    /// Whether several machines change the vault in turns, each in its own copy of the folder.
    public var isSynchronised: Bool { options.machine != nil }

    /// Whether this machine works in the vault by turns with others, each in a copy of it, or at least one at a time.
    public var takesTurns: Bool { isSynchronised && !options.isShared }
    public var isShared: Bool { options.isShared }

    /// What stands for this machine in the headers that it writes; 0 in a vault that is not synchronised.
    var machineNumber: UInt32 { options.machine?.number ?? 0 }

    /// Whether opening a file has changed it, for which its directory is still to be kept: true once.
    public func takeChangeAtOpen(of file: File) -> Bool {
        takesTurns && file.marks.hasChangedAtOpen.exchange(false, ordering: .acquiring)
    }

    /// Call it before something in a directory is changed: if another machine has removed the directory, what is
    /// changed here stays with a record by which it can be read. Does nothing in a vault that is not synchronised.
    ///
    /// - Parameter name: of the entry that is changed.
    /// - Returns: whether something was changed in the directory in this session before.
    @discardableResult
    public func keep(_ directory: Directory, changing name: Name) throws(VaultError) -> Bool {
        guard let machine = options.machine, !isReadOnly else { return true }
        let long = try { () throws(VaultError) -> [UInt8]? in
            let count = Base64URL.encodedCount(name.bytes.count + DeterministicCipher.tagSize)
            return count <= traits.nameMax ? nil : try storedName(name, in: directory).sidecar?.ciphertext
        }()
        if long == nil, directory.isKept.load(ordering: .acquiring) { return true }
        return try directory.keeping.withLock { (_) throws(VaultError) in
            let isKept = directory.isKept.load(ordering: .acquiring)
            let (record, binding) = directory.state.withLock { ($0.record, $0.binding) }
            var copy = self.copy(of: record, from: recordCopy(of: machine, at: binding, in: directory.descriptor))
            let isNew = long.map { copy.note(longName: $0) } ?? false
            guard !isKept || isNew else { return true }
            try write(copy, of: machine, at: binding, in: directory.descriptor)
            directory.isKept.store(true, ordering: .releasing)
            return isKept
        }
    }

    /// Writes this machine's copy of the record anew, behind changes in the directory; also if it is missing.
    public func renewCopy(of directory: Directory) throws(VaultError) {
        guard let machine = options.machine, takesTurns, !isReadOnly else { return }
        try directory.keeping.withLock { (_) throws(VaultError) in
            let (record, binding) = directory.state.withLock { ($0.record, $0.binding) }
            let known = recordCopy(of: machine, at: binding, in: directory.descriptor)
            try write(copy(of: record, from: known), of: machine, at: binding, in: directory.descriptor)
            directory.isKept.store(true, ordering: .releasing)
        }
    }

    /// The record of a directory, or its name binding, has changed: this machine's copy has the new one. Others' copies
    /// for the name that it had are removed.
    ///
    /// - Parameter old: the name binding that it had.
    func renewCopies(of directory: Directory, from old: NameBinding) {
        guard let machine = options.machine, takesTurns, !isReadOnly else { return }
        let folder = directory.descriptor
        directory.keeping.withLock { _ in
            let (record, binding) = directory.state.withLock { ($0.record, $0.binding) }
            let entries = (try? backingEntries(of: folder)) ?? []
            let found = recordCopies(among: entries, at: old, in: folder)
            var copy = self.copy(of: record, from: found.first { $0.machine == machine }?.copy)
            for identifier in found.flatMap({ [$0.copy.record] + $0.copy.others }) { copy.note(identifier) }
            // Without it, the directory has its record.
            let isWritten = (try? write(copy, of: machine, at: binding, in: folder)) != nil
            directory.isKept.store(isWritten, ordering: .releasing)
            guard isWritten, old != binding else { return }
            for other in found where other.machine != machine { unlinkOwn(.recordCopy(of: other.machine), in: folder) }
        }
    }

    /// Notes records of a directory whose IDs entries may have.
    func note(_ others: [DirectoryRecord], in directory: Directory) throws(VaultError) {
        guard let machine = options.machine else { return }
        try directory.keeping.withLock { (_) throws(VaultError) in
            let (record, binding) = directory.state.withLock { ($0.record, $0.binding) }
            let known = recordCopy(of: machine, at: binding, in: directory.descriptor)
            var copy = self.copy(of: record, from: known)
            for other in others { copy.note(other) }
            guard copy.identifiers != known?.identifiers ?? [record.directory] else { return }
            try write(copy, of: machine, at: binding, in: directory.descriptor)
        }
    }

    /// A copy of the record that knows what an earlier copy does.
    private func copy(of record: DirectoryRecord, from known: RecordCopy?) -> RecordCopy {
        let others = known.map { [$0.record] + $0.others } ?? []
        return RecordCopy(record: record, others: others, moment: Self.moment(), longNames: known?.longNames ?? [])
    }

    /// Removes one of the vault's own files, of which the user sees nothing.
    func unlinkOwn(_ name: Name, in folder: Descriptor) {
        try? changingRecords(in: folder) { () throws(Errno) in
            try keepingTimes(of: folder) { () throws(Errno) in try store.unlink(name, in: folder) }
        }
    }

    /// Writes this machine's copy of the record of a new directory.
    func writeFirstCopy(of record: DirectoryRecord, at binding: NameBinding, in folder: Descriptor) throws(VaultError) {
        guard let machine = options.machine, takesTurns else { return }
        try write(RecordCopy(record: record, moment: Self.moment()), of: machine, at: binding, in: folder)
    }

    private func write(
        _ copy: RecordCopy, of machine: MachineTag, at binding: NameBinding, in folder: Descriptor
    ) throws(VaultError) {
        let sealed = try authentic("") { () throws(CryptoError) in
            try keys.volume.withBytes { volume throws(CryptoError) in
                try binding.withBytes { binding throws(CryptoError) in
                    try unsafe keys.directories.seal(
                        copy.plain.span.bytes, associatedData: volume, binding, machine.bytes.span.bytes)
                }
            }
        }
        let (name, temporary) = (Name.recordCopy(of: machine), Name.temporary())
        try changingRecords(in: folder) { () throws(Errno) in
            try keepingTimes(of: folder) { () throws(Errno) in
                // It is for other machines, which a crash of this one does not concern: so nothing is flushed.
                let file = try create(temporary: temporary, in: folder, mode: 0o600)
                do throws(Errno) {
                    try unsafe store.write(copy.encoded(sealed: sealed).span.bytes, to: file, at: 0)
                    try? store.setTimeApart(of: file, from: name, in: folder)
                    try store.rename(temporary, in: folder, to: name, in: folder, flags: 0)
                } catch {
                    try? store.unlink(temporary, in: folder)
                    throw error
                }
            }
        }
    }

    private static func moment() -> UInt64 { Random.bytes(8).reduce(0) { $0 << 8 | UInt64($1) } }

    // MARK: Reading

    /// A machine's copy of a directory's record; nil if there is none that is sealed for this name binding.
    func recordCopy(of machine: MachineTag, at binding: NameBinding, in folder: Descriptor) -> RecordCopy? {
        recordCopy(.recordCopy(of: machine), of: machine, at: binding, in: folder)
    }

    /// - Parameter name: of the file, which a synchronisation program may have put aside.
    func recordCopy(
        _ name: Name, of machine: MachineTag, at binding: NameBinding, in folder: Descriptor
    ) -> RecordCopy? {
        guard let bytes = try? readAll(name, in: folder, upTo: RecordCopy.largestSize),
            let (sealed, longNames) = RecordCopy.parts(of: bytes)
        else { return nil }
        let plain = try? keys.volume.withBytes { volume throws(CryptoError) in
            try binding.withBytes { binding throws(CryptoError) in
                try unsafe keys.directories.open(
                    sealed.span.bytes, associatedData: volume, binding, machine.bytes.span.bytes)
            }
        }
        return plain.flatMap { try? RecordCopy(plain: $0, longNames: longNames) }
    }

    /// Whether an entry of a folder is a machine's copy of the record, and not what a crash has left of one.
    func isRecordCopy(_ name: Name, in folder: Descriptor) -> Bool {
        guard BackingName.machine(ofRecordCopy: name.bytes) != nil,
            let bytes = try? readAll(name, in: folder, upTo: RecordCopy.largestSize)
        else { return false }
        return RecordCopy.parts(of: bytes) != nil
    }

    /// All machines' copies of a directory's record, in the order of the machines' tags.
    package func recordCopies(
        among entries: [DirectoryEntry], at binding: NameBinding, in folder: Descriptor
    ) -> [FoundRecordCopy] {
        entries.compactMap { BackingName.machine(ofRecordCopy: $0.name.bytes) }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            .compactMap { machine in
                recordCopy(of: machine, at: binding, in: folder).map { FoundRecordCopy(machine: machine, copy: $0) }
            }
    }

    // MARK: A directory without a record

    /// The record of a directory that another machine has removed, while this one has changed something in it.
    ///
    /// The machine that has changed it gives it a new ID, the same on each machine that does so: the directory may have
    /// been renamed, and then there is another one with the ID that it had. Until that machine has done so, the record
    /// is that of the copy, and the directory may also be one that has not arrived as a whole.
    ///
    /// - Returns: nil if there is no copy of the record.
    func lentRecord(at binding: NameBinding, in folder: Descriptor) throws(VaultError) -> DirectoryRecord? {
        guard let machine = options.machine else { return nil }
        let copies = recordCopies(among: try backingEntries(of: folder), at: binding, in: folder)
        guard let first = copies.first(where: { $0.machine == machine }) ?? copies.first else { return nil }
        guard !isReadOnly, first.machine == machine else { return first.copy.record }
        let record = restored(first.copy.record, at: binding)
        // First: the old ID must not be lost.
        if record != first.copy.record {
            try write(copy(of: record, from: first.copy), of: machine, at: binding, in: folder)
        }
        try writeRecord(record, at: binding, as: .directoryRecord, in: folder)
        return record
    }

    /// Another folder has the ID of this one too: it gets the one that a restored record would have. Its entries are
    /// found under the ID that it had until `takeIn` has moved them.
    func renewIdentifier(of directory: Directory) throws(VaultError) {
        guard let machine = options.machine else { return }
        let (record, binding) = directory.state.withLock { ($0.record, $0.binding) }
        let new = restored(record, at: binding)
        guard new.directory != record.directory else { return }
        var copy = self.copy(of: new, from: recordCopy(of: machine, at: binding, in: directory.descriptor))
        copy.note(record)
        try write(copy, of: machine, at: binding, in: directory.descriptor)
        try writeRecord(new, at: binding, as: .directoryRecord, in: directory.descriptor)
    }

    private func restored(_ record: DirectoryRecord, at binding: NameBinding) -> DirectoryRecord {
        guard binding != .zero else { return record }
        // No name has a zero in it, so this is no name binding.
        let message = [0] + Array("restored".utf8) + binding.bytes
        let identifier = record.directory.withBytes { identifier in
            DirectoryIdentifier(unsafe keys.bindings.tag(of: identifier, message.span.bytes))
        }
        return DirectoryRecord(
            directory: identifier, defaultClass: record.defaultClass, isExplicit: record.isExplicit,
            generation: traits.numbersDirectories ? Self.generationOfRestored : 0)
    }

    /// Above those of records that were not rebuilt: docs/FORMAT.md, "Directory records".
    private static let generationOfRestored: UInt64 = 1 << 32
}

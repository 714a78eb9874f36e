import Crypto
import Format
import Glibc
import Posix
import Store

// Directory records: docs/FORMAT.md, "Directory records".

extension Vault {
    /// Opens the directory `name`. If its record is missing or belongs to another directory, it is damaged.
    public func openDirectory(_ name: Name, in parent: Directory) throws(VaultError) -> Directory {
        let stored = try storedName(name, in: parent)
        let binding = binding(of: name, in: parent)
        let (directory, isMoving) = try withOwnerPermissions(0o500, of: .entry(stored.name, in: parent.descriptor)) {
            () throws(VaultError) in
            try openDirectory(try openFolder(stored.name, in: parent.descriptor), at: binding)
        }
        if isMoving && !isReadOnly {
            // The rename may be of this session, and not flushed yet. If the flush fails, both records stay.
            if haveFlushedAll() {
                try finishMove(of: directory)
            } else {
                directory.state.withLock { $0.isBetween = true }
            }
        }
        if !directory.isLent { try compare(directory, foundAs: name, stored.name, in: parent) }
        try tidy(directory)
        return directory
    }

    /// - Returns: also whether its record is still that of a rename which is not complete.
    private func openDirectory(
        _ folder: Descriptor, at binding: NameBinding
    ) throws(VaultError) -> (Directory, isMoving: Bool) {
        do throws(VaultError) {
            let record = try readRecord(.directoryRecord, at: binding, in: folder)
            return (Directory(descriptor: folder, record: record, binding: binding), false)
        } catch {
            guard case .damaged = error else { throw error }
            // A rename that a crash interrupted leaves the pending record beside the old one.
            if let record = try? readRecord(.newDirectoryRecord, at: binding, in: folder) {
                return (Directory(descriptor: folder, record: record, binding: binding), true)
            }
            guard let record = try lentRecord(at: binding, in: folder) else { throw error }
            let isRestored = (try? readRecord(.directoryRecord, at: binding, in: folder)) == record
            return (Directory(descriptor: folder, record: record, binding: binding, isLent: !isRestored), false)
        }
    }

    package func openFolder(_ name: Name, in parent: Descriptor) throws(VaultError) -> Descriptor {
        try backing { () throws(Errno) in try store.open(name, in: parent, OpenFlags.directory, mode: 0) }
    }

    /// Opens the record under `name` in a folder; it must be sealed for `binding`.
    package func readRecord(_ name: Name, at binding: NameBinding, in folder: Descriptor) throws(VaultError)
        -> DirectoryRecord
    {
        let text: [UInt8]
        do {
            text = try readRecordText(name, in: folder)
        } catch {
            guard case .system(let errno) = error, errno == .ENOENT || errno == .EINVAL || errno == .ELOOP else {
                throw error
            }
            throw .damaged("the directory record is missing")
        }
        guard text.count == DirectoryRecord.sealedTextCount, let sealed = Base64URL.decode(text) else {
            throw .damaged("the directory record is malformed")
        }
        let bytes = try authentic("the directory record belongs elsewhere or was changed") { () throws(CryptoError) in
            try keys.volume.withBytes { volume throws(CryptoError) in
                try binding.withBytes { binding throws(CryptoError) in
                    try unsafe keys.directories.open(sealed.span.bytes, associatedData: volume, binding)
                }
            }
        }
        do {
            return try unsafe DirectoryRecord(decoding: bytes.span.bytes)
        } catch { throw .damaged("the directory record: \(error)") }
    }

    package func readRecordText(_ name: Name, in folder: Descriptor) throws(VaultError) -> [UInt8] {
        switch traits.recordKind {
        case .symbolicLink:
            return try backing { () throws(Errno) in try store.readSymbolicLink(name, in: folder) }
        case .file:
            do throws(VaultError) { return try readAll(name, in: folder, upTo: DirectoryRecord.sealedTextCount) } catch
            {
                // A vault that became a synchronised one has links until its directories change.
                guard isSynchronised, case .damaged = error,
                    let target = try? store.readSymbolicLink(name, in: folder)
                else { throw error }
                return target
            }
        }
    }

    /// Writes a record, atomically: a new symbolic link is renamed over the old one.
    ///
    /// Keeps the directory's own times: the user sees no change.
    package func writeRecord(_ record: DirectoryRecord, at binding: NameBinding, as name: Name, in folder: Descriptor)
        throws(VaultError)
    {
        let sealed = try authentic("") { () throws(CryptoError) in
            try keys.volume.withBytes { volume throws(CryptoError) in
                try binding.withBytes { binding throws(CryptoError) in
                    try unsafe keys.directories.seal(record.encoded.span.bytes, associatedData: volume, binding)
                }
            }
        }
        let text = Base64URL.encode(sealed)
        try changingRecords(in: folder) { () throws(Errno) in
            try keepingTimes(of: folder) { () throws(Errno) in
                switch traits.recordKind {
                case .symbolicLink:
                    let temporary = Name.temporary()
                    try store.makeSymbolicLink(to: text, temporary, in: folder)
                    try store.rename(temporary, in: folder, to: name, in: folder, flags: 0)
                case .file:
                    try writeWholeFile(text, at: name, in: folder, replacing: .directoryRecord)
                }
            }
        }
    }

    /// Sets the class of what will be created in a directory, and whether it counts as set explicitly.
    ///
    /// - Throws: `unseen` if the store does not show the new record: the next reader would use the old class.
    public func setDefaultClass(
        _ protectionClass: ProtectionClass, isExplicit: Bool, of directory: Directory
    ) throws(VaultError) {
        try directory.refuseStale()
        try replaceRecord(of: directory) { record in
            record.defaultClass = protectionClass
            record.isExplicit = isExplicit
        }
    }

    /// Writes a record that is newer than all that was seen of a directory.
    func replaceRecord(of directory: Directory, _ change: (inout DirectoryRecord) -> Void = { _ in }) throws(VaultError)
    {
        try finishEarlierMove(of: directory)
        var (record, binding) = directory.state.withLock { ($0.record, $0.binding) }
        change(&record)
        record = successor(of: record, at: binding)
        try writeRecord(record, at: binding, as: .directoryRecord, in: directory.descriptor)
        try prove(record, at: binding, in: directory.descriptor)
        directory.state.withLock { $0.record = record }
        if directory.isKept.load(ordering: .acquiring) { renewCopies(of: directory, from: binding) }
        noteRecord(of: directory)
    }

    /// Reads a record back that decides which class new files have.
    func prove(_ record: DirectoryRecord, at binding: NameBinding, in folder: Descriptor) throws(VaultError) {
        let shown: DirectoryRecord?
        do throws(VaultError) {
            shown = try withOwnerPermissions(0o500, of: .file(folder)) { () throws(VaultError) in
                try readRecord(.directoryRecord, at: binding, in: folder)
            }
        } catch {
            guard error.isDamage else { throw error }
            shown = nil
        }
        guard shown == record else { throw .unseen("the store does not show the new class of a folder") }
    }

    /// Prepares a rename of `directory` to `binding`: adds the pending record, which is valid under the new name.
    func beginMove(of directory: Directory, to binding: NameBinding) throws(VaultError) {
        try directory.refuseStale()
        try finishEarlierMove(of: directory)
        // The pending record of an earlier rename must be the record, durably, before another one takes its name.
        try flush(folder: directory.descriptor)
        var record = successor(of: directory.record, at: binding)
        // Under another name its record is the newest one.
        if let older = directory.state.withLock({ $0.older }) {
            record.defaultClass = min(record.defaultClass, older.seenClass)
        }
        try writeRecord(record, at: binding, as: .newDirectoryRecord, in: directory.descriptor)
        directory.state.withLock { $0.pending = record }
        try flush(folder: directory.descriptor)
    }

    /// The directory has its new name, and opens under both.
    func didMove(_ directory: Directory, to binding: NameBinding) {
        let (oldRecord, oldBinding) = directory.state.withLock { state in
            defer {
                state.binding = binding
                state.record = state.pending ?? state.record
                state.pending = nil
            }
            return (state.record, state.binding)
        }
        renewCopies(of: directory, from: oldBinding)
        noteMove(of: directory, oldRecord, from: oldBinding)
    }

    /// Completes a rename: the pending record becomes the record once the folders are durable. Until then each of the
    /// two is valid under its own name. If this fails, the next change of the directory tries again.
    func finishMove(of directory: Directory, in folders: [Descriptor]) {
        directory.state.withLock { $0.movedIn = folders }
        try? finishEarlierMove(of: directory)
    }

    /// Completes an earlier rename before another record is written: its pending record must not be lost.
    func finishEarlierMove(of directory: Directory) throws(VaultError) {
        let (folders, isBetween) = directory.state.withLock { ($0.movedIn, $0.isBetween) }
        guard !folders.isEmpty || isBetween else { return }
        if isBetween { try flushAll() }
        for folder in folders { try flush(folder: folder) }
        do throws(VaultError) { try finishMove(of: directory) } catch {
            // The pending record is already the record.
            guard error == .system(.ENOENT) else { throw error }
        }
        directory.state.withLock { ($0.movedIn, $0.isBetween) = ([], false) }
    }

    /// Makes the pending record the record.
    package func finishMove(of directory: Directory) throws(VaultError) {
        try changingRecords(in: directory.descriptor) { () throws(Errno) in
            try keepingTimes(of: directory.descriptor) { () throws(Errno) in
                try store.rename(
                    .newDirectoryRecord, in: directory.descriptor, to: .directoryRecord, in: directory.descriptor,
                    flags: 0)
            }
        }
    }

    /// Removes the pending record after a rename that failed.
    func cancelMove(of directory: Directory) {
        directory.state.withLock { $0.pending = nil }
        try? changingRecords(in: directory.descriptor) { () throws(Errno) in
            try keepingTimes(of: directory.descriptor) { () throws(Errno) in
                try store.unlink(.newDirectoryRecord, in: directory.descriptor)
            }
        }
    }

    /// Runs `body`, which changes what only the vault sees in a folder: the folder's mode must not prevent it.
    package func changingRecords(in folder: Descriptor, _ body: () throws(Errno) -> Void) throws(VaultError) {
        try withOwnerPermissions(0o300, of: .file(folder)) { () throws(VaultError) in try backing(body) }
    }

    /// Runs `body`, which changes a folder or a file, and keeps its times of access and modification.
    func keepingTimes<Result>(of file: Descriptor, _ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        let before = try store.status(of: file)
        let result = try body()
        try store.setTimes(accessed: .keep, modified: .at(before.modified), of: file)
        return result
    }
}

import Format
import Glibc
import Posix
import Store
import Writeback

// How the journal knows a file: its intent.

extension File {
    /// Makes sure that the journal has an intent of the file, on top of the header in the backing file; false for a
    /// file without a name. Needs `lock` exclusively, and room in the journal.
    func beginRecords() throws(VaultError) -> Bool {
        while let step = state.nextStepToRecords { try perform(step) }
        return state.names.removal == .named
    }

    /// Writes a header with a new generation, and flushes it.
    func leap() throws(VaultError) {
        // Whether it still has a name is found out with its path.
        guard try vault.backingStatus(of: .file(descriptor)).linkCount > 0 else {
            return state.journal.didDistinguish()
        }
        let before = state.header.generation
        state.header.leap()
        do throws(VaultError) {
            try writeStampedHeader()
            try flush(dataOnly: false)
        } catch {
            state.header.generation = max(before, state.durable.placed.generation)
            throw error
        }
        state.didFlush()
        state.journal.didDistinguish()
    }

    /// Makes it durable that the file has lost its last name, before it is written to without one. If a crash brought
    /// the name back, it would show what the file held before. Needs `lock` exclusively.
    func makeRemovalDurable() throws(VaultError) {
        while let step = state.nextStepToRemoval { try perform(step) }
    }

    func flushRemoval() throws(VaultError) {
        if let folder = state.names.removedFrom {
            try vault.flush(folder: folder)
        } else {
            try vault.flushAll()
        }
        state.names.didFlushRemoval()
    }

    /// Notes that the file's last name has gone from a folder.
    func noteRemoval(from folder: Descriptor) {
        lock.withExclusive {
            state.names.didLoseLastName(from: folder)
            state.times.didTouch(.now)
            markKeys = []
        }
    }

    /// Appends the file's path to the journal; a file without a name is noted as such instead.
    func declareIntent() throws(VaultError) {
        let needsPath = state.mayLackHeader
        guard try !backing({ () throws(Errno) in try declareIntent(needingPath: needsPath) }) else { return }
        // Replay then searches the whole vault and knows the file by its header alone.
        try perform(.flush(all: true))
        _ = try backing { () throws(Errno) in try declareIntent(needingPath: false) }
    }

    /// The backing path, if another machine may have renamed the file within its folder. The kernel knows the path by
    /// which this machine has found it, and not what another one has done since.
    ///
    /// - Throws: ENAMETOOLONG if the file is not in that folder.
    private func presentPath(knownAs path: [UInt8]) throws(Errno) -> [UInt8] {
        guard let names = BackingPath(path)?.names, let last = names.last else { throw .ENAMETOOLONG }
        do throws(VaultError) {
            var folder = vault.store.root
            for name in names.dropLast() { folder = try vault.pin(name, in: folder, O_DIRECTORY) }
            if try isHere(as: last, in: folder) { return path }
            if let name = try presentName(in: folder) {
                let path = path.dropLast(last.bytes.count) + name.bytes
                // It may be too long for a path.
                if BackingPath(path) != nil { return path }
            }
        } catch {
            guard error.isAbsence else { throw error.errno }
        }
        throw .ENAMETOOLONG
    }

    /// In a larger folder, only entries with the file's inode number are looked at. Some stores list other numbers.
    private static let mostEntriesToLookAt = 256

    private func presentName(in folder: Descriptor) throws(VaultError) -> Name? {
        let entries = try vault.backingEntries(of: try vault.openFolder(.current, in: folder)).filter {
            BackingName($0.name.bytes) != .reserved
        }
        let likely = entries.filter { $0.inode == identity.inode }
        let others = entries.count <= Self.mostEntriesToLookAt ? entries : []
        for entry in likely + others where try isHere(as: entry.name, in: folder) { return entry.name }
        return nil
    }

    private func isHere(as name: Name, in folder: Descriptor) throws(VaultError) -> Bool {
        do throws(Errno) { return try vault.store.status(of: name, in: folder).inode == identity.inode } catch {
            guard error == .ENOENT else { throw .system(error) }
            return false
        }
    }

    /// - Parameter needsPath: no header of the file need be on disk.
    /// - Returns: false if the path is needed and cannot be found out.
    private func declareIntent(needingPath needsPath: Bool) throws(Errno) -> Bool {
        // Under `paths`: no folder gets another name until the record is there.
        try vault.order.paths.withShared { () throws(Errno) in
            var path: [UInt8] = []
            do throws(Errno) {
                let known = try vault.store.path(of: descriptor)
                // If it is not known, none is noted: a path that leads elsewhere would hide the file from the replay.
                path = mayBeRenamed ? try presentPath(knownAs: known) : known
            } catch {
                guard error != .ENOENT else {
                    state.names.didFindNoName()
                    return true
                }
                if needsPath { return false }
            }
            let journal = try vault.openJournal()
            // Listed before it has records: when a part is freed, a file that is not listed counts as checkpointed.
            list()
            let extent = try journal.append(
                Journal.Intent(
                    path: path, low: state.durable.flushedGeneration, high: state.durable.placed.generation),
                of: identity)
            if state.mayLackHeader {
                journal.noteCreate(of: identity)
            }
            state.journal.didAppendIntent(extent.sequence, isAll: state.mayLackHeader)
            return true
        }
    }
}

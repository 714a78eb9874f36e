import Format
import Posix
import Store

// How the journal knows a file: its intent.

extension File {
    /// Makes sure that the journal has an intent of the file, on top of the header in the backing file; false for a
    /// file without a name. Needs `lock` exclusively, and room in the journal.
    func beginRecords() throws(VaultError) -> Bool {
        if state.names.removal != .named { return false }
        if state.journal.hasRecords { return true }
        // A crash must not find the file under another name than the one that the journal has.
        try flushBindings()
        try distinguishFromDuplicates()
        try proveGeneration()
        while true {
            // Under `paths`: no folder gets another name until the record is there.
            let intent = try backing { () throws(Errno) in
                try vault.paths.withShared { () throws(Errno) in try declareIntent() }
            }
            switch intent {
            case .made: return true
            case .removed: return false
            case .needsHeader:
                try flush(dataOnly: false)
                state.durable.didFlush(state.durable.placed.generation)
            }
        }
    }

    /// Gives the file a generation that none of its duplicates has or will reach, before the journal has records of it.
    /// A copier that does not know of hard links makes several files of one, with one ID: after a crash, replay must
    /// not apply the records of one to another.
    private func distinguishFromDuplicates() throws(VaultError) {
        guard state.journal.mayHaveDuplicates, try vault.backingStatus(of: .file(descriptor)).linkCount > 0
        else {
            return
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
        state.durable.didFlush(state.durable.placed.generation)
        state.journal.didDistinguish()
    }

    /// Flushes the header before the journal names its generation. If the header is in the page cache alone, a crash
    /// leaves an older one, which no record fits.
    private func proveGeneration() throws(VaultError) {
        guard case .assumed = state.durable.flushed else { return }
        try flush(dataOnly: true)
        state.durable.didFlush(state.durable.placed.generation)
    }

    /// Makes it durable that the file has lost its last name, before it is written to without one. If a crash brought
    /// the name back, it would show what the file held before. Needs `lock` exclusively.
    func makeRemovalDurable() throws(VaultError) {
        guard state.names.removal != .durable else { return }
        // No crash may bring back an earlier name either.
        try flushBindings()
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
        }
    }

    private enum IntentResult {
        case made
        /// The file has no name.
        case removed
        /// Its path cannot be found out. Replay then searches the whole vault and knows the file by its header alone.
        case needsHeader
    }

    private func declareIntent() throws(Errno) -> IntentResult {
        var path: [UInt8] = []
        do throws(Errno) {
            path = try vault.store.path(of: descriptor)
        } catch {
            guard error != .ENOENT else {
                state.names.didFindNoName()
                return .removed
            }
            if state.durable.flushedGeneration == 0 { return .needsHeader }
        }
        let journal = try vault.openJournal()
        // Listed before it has records: when a half is freed, a file that is not listed counts as checkpointed.
        list()
        let extent = try journal.append(
            Journal.Intent(
                path: path, low: state.durable.flushedGeneration,
                high: state.durable.placed.generation),
            of: identity)
        if state.durable.flushedGeneration == 0 {
            journal.noteCreate(of: identity)
        }
        state.journal.didAppendIntent(extent.sequence)
        return .made
    }
}

import Format
import Posix
import Store

// How the journal knows a file.

extension File {
    /// Makes sure that the journal knows the file, on top of the header that the backing file has; false for a file
    /// without a name. Needs `lock` exclusively, and room in the journal.
    func beginRecords() throws(VaultError) -> Bool {
        if state.writeback.isRemoved { return false }
        if state.writeback.isJournaled { return true }
        // A crash must not find the file under another name than the journal does.
        try flushBindings()
        try distinguishFromDuplicates()
        try proveGeneration()
        while true {
            // Until the record is there no folder gets another name.
            let intent = try backing { () throws(Errno) in
                try vault.paths.withShared { () throws(Errno) in try declareIntent() }
            }
            switch intent {
            case .made: return true
            case .removed: return false
            case .needsHeader:
                try flush(dataOnly: false)
                state.writeback.noteDurable(state.writeback.inPlaceGeneration)
            }
        }
    }

    /// A copier that does not know of hard links makes several files of one, with one ID: a crash must not give one
    /// what the journal has of another. So this one gets a generation that none of those has or comes to, before the
    /// journal speaks of it.
    private func distinguishFromDuplicates() throws(VaultError) {
        guard state.writeback.mayHaveDuplicates, try vault.backingStatus(of: .file(descriptor)).linkCount > 0 else {
            return
        }
        let before = state.header.generation
        state.header.leap()
        do throws(VaultError) {
            try writeStampedHeader()
            try flush(dataOnly: false)
        } catch {
            state.header.generation = max(before, state.writeback.inPlaceGeneration)
            throw error
        }
        state.writeback.noteDurable(state.writeback.inPlaceGeneration)
        state.writeback.mayHaveDuplicates = false
    }

    /// The journal must not say that the disk has a header which only the page cache has: a crash would find an older
    /// one, which no record fits.
    private func proveGeneration() throws(VaultError) {
        guard state.writeback.isAssumedDurable else { return }
        try flush(dataOnly: true)
        state.writeback.noteDurable(state.writeback.inPlaceGeneration)
    }

    /// A crash must not bring back the last name of a file that is written to without one: it would show what was there
    /// before. Needs `lock` exclusively.
    func makeRemovalDurable() throws(VaultError) {
        guard !state.writeback.isRemovalDurable else { return }
        // Nor one that it has left before.
        try flushBindings()
        if let folder = state.writeback.removedFrom {
            try vault.flush(folder: folder)
        } else {
            try vault.flushAll()
        }
        state.writeback.isRemovalDurable = true
    }

    /// Its last name has gone from a folder.
    func noteRemoval(from folder: Descriptor) {
        lock.withExclusive {
            state.writeback.removedFrom = folder
            state.writeback.touched = .now
        }
    }

    private enum IntentResult {
        case made
        /// The file has no name.
        case removed
        /// Nobody can tell its path: a replay that looks for it everywhere knows it by its header alone.
        case needsHeader
    }

    private func declareIntent() throws(Errno) -> IntentResult {
        var path: [UInt8] = []
        do throws(Errno) {
            path = try vault.store.path(of: descriptor)
        } catch {
            guard error != .ENOENT else {
                state.writeback.isRemoved = true
                return .removed
            }
            if state.writeback.durableGeneration == 0 { return .needsHeader }
        }
        let journal = try vault.openJournal()
        // Listed before it has records: whoever frees a half takes a file that is not listed for checkpointed.
        list()
        let slot = try journal.append(
            Journal.Intent(
                path: path, low: state.writeback.durableGeneration, high: state.writeback.inPlaceGeneration),
            of: identity)
        if state.writeback.durableGeneration == 0 {
            journal.noteCreate(of: identity)
        }
        state.writeback.isJournaled = true
        state.writeback.sequence = slot.sequence
        return .made
    }
}

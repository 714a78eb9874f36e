import Format
import Posix
import Store

// How the journal knows a file.

extension File {
    /// Makes sure that the journal knows the file, on top of the header that the backing file has; false for a file
    /// without a name. Needs `lock` exclusively, and room in the journal.
    func beginRecords() throws(VaultError) -> Bool {
        if state.unsettled.isRemoved { return false }
        if state.unsettled.isJournaled { return true }
        // A cut must not find the file under another name than the journal does.
        try settlePlaces()
        try tellFromTwins()
        try proveGeneration()
        while true {
            // Until the record is there no folder gets another name.
            let claim = try backing { () throws(Errno) in
                try vault.paths.withShared { () throws(Errno) in try self.claim() }
            }
            switch claim {
            case .made: return true
            case .removed: return false
            case .needsHeader:
                try flush(dataOnly: false)
                state.unsettled.noteDurable(state.unsettled.placedGeneration)
            }
        }
    }

    /// A copier that does not know of hard links makes several files of one, with one ID: a cut must not give one what the
    /// journal has of another. So this one gets a generation that none of those has or comes to, before the journal speaks
    /// of it.
    private func tellFromTwins() throws(VaultError) {
        guard state.unsettled.mayHaveTwins, try vault.backingStatus(of: .file(descriptor)).linkCount > 0 else { return }
        let before = state.header.generation
        state.header.leap()
        do throws(VaultError) {
            try placeStampedHeader()
            try flush(dataOnly: false)
        } catch {
            state.header.generation = max(before, state.unsettled.placedGeneration)
            throw error
        }
        state.unsettled.noteDurable(state.unsettled.placedGeneration)
        state.unsettled.mayHaveTwins = false
    }

    /// The journal must not say that the disk has a header which only the page cache has: a cut would find an older one,
    /// which no record fits.
    private func proveGeneration() throws(VaultError) {
        guard state.unsettled.isAssumedDurable else { return }
        try flush(dataOnly: true)
        state.unsettled.noteDurable(state.unsettled.placedGeneration)
    }

    /// A cut must not bring back the last name of a file that is written to without one: it would show what was there
    /// before. Needs `lock` exclusively.
    func settleRemoval() throws(VaultError) {
        guard !state.unsettled.isRemovalDurable else { return }
        // Nor one that it has left before.
        try settlePlaces()
        if let folder = state.unsettled.removedFrom {
            try vault.flush(folder: folder)
        } else {
            try vault.flushAll()
        }
        state.unsettled.isRemovalDurable = true
    }

    /// Its last name has gone from a folder.
    func noteRemoval(from folder: Descriptor) {
        lock.withExclusive {
            state.unsettled.removedFrom = folder
            state.unsettled.touched = .now
        }
    }

    private enum ClaimResult {
        case made
        /// The file has no name.
        case removed
        /// Nobody can tell its path: a replay that looks for it everywhere knows it by its header alone.
        case needsHeader
    }

    private func claim() throws(Errno) -> ClaimResult {
        var path: [UInt8] = []
        do throws(Errno) {
            path = try vault.store.path(of: descriptor)
        } catch {
            guard error != .ENOENT else {
                state.unsettled.isRemoved = true
                return .removed
            }
            if state.unsettled.durableGeneration == 0 { return .needsHeader }
        }
        let journal = try vault.openJournal()
        // Listed before it has records: whoever frees a half takes a file that is not listed for settled.
        list()
        let slot = try journal.append(
            Journal.Claim(
                path: path, low: state.unsettled.durableGeneration, high: state.unsettled.placedGeneration),
            of: identity)
        if state.unsettled.durableGeneration == 0 {
            journal.noteBirth(of: identity)
        }
        state.unsettled.isJournaled = true
        state.unsettled.sequence = slot.sequence
        return .made
    }
}

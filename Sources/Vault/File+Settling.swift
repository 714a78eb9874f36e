import Format
import Posix
import Store

// Bringing a file's backing file up to date: what the journal has goes into place, the length is confirmed, places that
// it has left are forgotten. docs/DURABILITY.md has the order and why.

extension File {
    /// Settles the file at once, with flushes of its own. Needs `lock` exclusively.
    ///
    /// - Parameters:
    ///   - all: makes durable what stat(2) says too.
    ///   - confirming: makes durable what was written since the last sync; otherwise only what the journal has.
    ///   - isMoving: it will be settled again after a rename.
    ///   - replaced: the time of a backing file in whose place this one is about to be put.
    ///   - change: is made to the header, and is durable when this returns.
    func settleAlone(
        all: Bool = false, confirming: Bool = true, isMoving: Bool = false, replacing replaced: Timespec? = nil,
        _ change: (inout FileHeader) -> Void = { _ in }
    ) throws(VaultError) {
        try copyIntoPlace()
        let hasLostSummary = try dropLongerSummary()
        let shown = try backing { () throws(Errno) in try shownTime() }
        let hasData = confirming && (state.length != state.header.length || !state.unsettled.isDataSynced)
        let isConfirmed = all || hasData || state.unsettled.isJournaled
        if isConfirmed || hasLostSummary { try flush(dataOnly: !all && !hasLostSummary) }
        if isConfirmed {
            confirm(state.length)
            state.unsettled.isDataSynced = true
        }
        let before = state.header
        change(&state.header)
        do throws(VaultError) {
            try placeSettledHeader(replacing: replaced)
            // A header that is durable before its stamp would look to a copy like the one before.
            try flush(dataOnly: isMoving)
            state.unsettled.cut = .durable
        } catch {
            // What is on disk now nobody knows; what is there for the next reader is what it was.
            let generation = state.header.generation
            state.header = before
            state.header.generation = generation
            state.unsettled.modified = shown
            try? placeSettledHeader()
            throw error
        }
        state.unsettled.isSynced = state.length == state.header.length && state.unsettled.isDataSynced
        try finishSettling(state.unsettled.placedGeneration)
    }

    /// Copies the blocks that lie in the journal into the backing file, once they are durable there. Needs `lock`
    /// exclusively.
    func copyIntoPlace() throws(VaultError) {
        try placeTorn()
        guard !state.unsettled.slots.isEmpty || !state.unsettled.holes.isEmpty else { return }
        if state.unsettled.isHeaderless { try journalMissingHeader() }
        let file = try writable()
        try keepingChangeTime { (_) throws(VaultError) in try copyIntoPlace(of: file) }
    }

    /// Takes a summary away that tells of more than the file has, and says whether that has to be made durable. Needs `lock`
    /// exclusively.
    private func dropLongerSummary() throws(VaultError) -> Bool {
        // As a rule nothing has been cut, and this is all that it costs.
        let size = try backing { () throws(Errno) in try vault.store.status(of: descriptor).size }
        guard UInt64(size) > BlockGeometry.backingSize(forLength: state.length) else { return false }
        let file = try writable()
        var isLost = false
        try keepingChangeTime { (_) throws(VaultError) in
            isLost = try vault.dropSummary(of: file, ifLongerThan: state.length)
        }
        return isLost
    }

    private func copyIntoPlace(of file: Descriptor) throws(VaultError) {
        try backing { () throws(Errno) in
            let journal = try vault.openJournal()
            // Before: a cut in the middle of the copying needs them.
            try journal.flush(upTo: state.unsettled.sequence)
            let modified = try shownTime()
            try placeHoles(in: file)
            try placeSlots(of: journal, in: file)
            state.unsettled.modified = modified
        }
    }

    /// Copies the blocks that lie in the journal, as many with one write as lie one behind the other in the file.
    private func placeSlots(of journal: Journal, in file: Descriptor) throws(Errno) {
        let slots = state.unsettled.slots.sorted { $0.key < $1.key }
        let size = Int(BlockGeometry.storedBlockSize)
        var stored = [UInt8](repeating: 0, count: min(slots.count, Scratch.blocks) * size)
        var begin = 0
        while begin < slots.count {
            var (end, count) = (begin, 0)
            // Only a last block is shorter: none comes behind it.
            while end < slots.count, end - begin < Scratch.blocks, count == (end - begin) * size,
                slots[end].key == slots[begin].key + UInt64(end - begin)
            {
                count += slots[end].value.count
                end += 1
            }
            do {
                var elements = stored.mutableSpan
                var bytes = unsafe elements.mutableBytes
                try journal.read(slots[begin..<end].map(\.value), spacing: size, into: &bytes)
            }
            try place(unsafe stored.span.bytes.extracting(0..<count), asBlock: slots[begin].key, in: file)
            begin = end
        }
    }

    /// Writes the header on top of blocks that are all durable where they are, or never will be confirmed. From here on
    /// the records before count for nothing, once this header is durable. Needs `lock` exclusively.
    func placeSettledHeader(replacing replaced: Timespec? = nil) throws(VaultError) {
        state.unsettled.guardedSince = state.header.length
        let generation = state.unsettled.placedGeneration
        // Also when its time could not be set: no record so far fits the header that is there.
        defer {
            if state.unsettled.placedGeneration != generation {
                state.unsettled.isJournaled = false
                state.unsettled.placedSequence = state.unsettled.sequence
                state.unsettled.slots = [:]
                state.unsettled.holes = RangeSet()
                state.unsettled.round += 1
            }
        }
        try placeStampedHeader(replacing: replaced)
    }

    /// After the header of a generation was flushed: its file needs neither journal nor what it has left behind. Needs
    /// `lock` exclusively.
    func finishSettling(_ generation: UInt64) throws(VaultError) {
        state.unsettled.noteDurable(generation)
        state.unsettled.birthplace = nil
        try backing { () throws(Errno) in
            // A rename of a folder above may have told another path, of which the file does not know.
            try vault.openJournal().release(
                identity, upTo: state.unsettled.isJournaled ? state.unsettled.placedSequence : .max)
        }
        // While that was flushed, blocks that were guarded still have gone into the journal: they stay guarded, for what
        // the journal has of them would come over what were written in place now. The next settling ends it.
        guard !state.unsettled.isJournaled else { return }
        state.unsettled.guarded = state.unsettled.guardedSince
        // What was found behind the end may be the rest of the last block: whoever writes looks at it, with a key.
        if !state.hasResidue { try cutBehind(isConfirmed: true) }
        unlistIfSettled()
    }

    /// Needs `lock` exclusively.
    func unlistIfSettled() {
        guard state.unsettled.isListed, !state.unsettled.isJournaled, state.unsettled.movedIn.isEmpty,
            state.header.length == state.length || state.isUnproven, state.unsettled.isHeaderCurrent,
            state.unsettled.guarded <= state.length
        else { return }
        state.unsettled.isListed = false
        vault.files.unlist(self)
    }

    // MARK: Together with others

    /// What was found when a file's settling began.
    struct Settling {
        let file: File
        let status: FileStatus
        let length: UInt64
        let generation: UInt64
        let round: UInt64
        let sequence: UInt64
        /// Whose names must be durable.
        let folders: [Descriptor]
        /// It has lost its last name, and the journal what was synced before.
        var isRemoval = false
        /// The new header must be durable before the file is done.
        let needsSecondFlush: Bool
        /// Its summary has been taken away, which must be durable before the new header is.
        var hasLostSummary = false
    }

    /// Puts into place what the journal has; nil for a file without a name, which is done.
    func beginSettling() throws(VaultError) -> Settling? {
        try lock.withExclusive { () throws(VaultError) in
            let status = try backing { () throws(Errno) in try vault.store.status(of: descriptor) }
            // Nothing is written to it here: a cut may take its removal back, and must find it unharmed.
            if status.linkCount == 0 && state.unsettled.slots.isEmpty && state.unsettled.holes.isEmpty {
                state.unsettled.isRemoved = true
                // Then it must find the records too, which may have more than the backing file.
                let isKnown = state.unsettled.isJournaled || !state.unsettled.movedIn.isEmpty
                if isKnown && !state.unsettled.isRemovalDurable {
                    return Settling(
                        file: self, status: status, length: 0, generation: 0, round: 0, sequence: 0,
                        folders: state.unsettled.removedFrom.map { [$0] + state.unsettled.movedIn } ?? [],
                        isRemoval: true,
                        needsSecondFlush: false)
                }
                try forgetRemoved()
                return nil
            }
            try copyIntoPlace()
            let hasLostSummary = try dropLongerSummary()
            guardAll()
            return Settling(
                file: self, status: status, length: state.length, generation: state.unsettled.placedGeneration,
                round: state.unsettled.round, sequence: state.unsettled.sequence, folders: state.unsettled.movedIn,
                needsSecondFlush: state.unsettled.isJournaled
                    || UInt64(status.size) > BlockGeometry.backingSize(forLength: state.length),
                hasLostSummary: hasLostSummary)
        }
    }

    /// It is durable that the file has lost its last name.
    func finishRemoval() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            state.unsettled.isRemovalDurable = true
            leavePlaces()
            try forgetRemoved()
        }
    }

    /// Nothing is to be settled of a file that is gone for good. Needs `lock` exclusively.
    private func forgetRemoved() throws(VaultError) {
        state.unsettled.isJournaled = false
        state.unsettled.isListed = false
        try backing { () throws(Errno) in try vault.openJournal().release(identity, upTo: .max) }
        vault.files.unlist(self)
    }

    /// A header that says so, and is to be flushed.
    struct Placement {
        let file: File
        let generation: UInt64
        let round: UInt64
    }

    /// What was there when the settling began is durable in place: the header says so now. Nil if the file is done.
    func continueSettling(_ settling: Settling) throws(VaultError) -> Placement? {
        try lock.withExclusive { () throws(VaultError) in
            // Somebody else has settled it since, or it was cut: it is done, or its turn comes again.
            guard state.unsettled.round == settling.round else { return nil }
            state.unsettled.noteDurable(settling.generation)
            state.unsettled.birthplace = nil
            if state.unsettled.sequence != settling.sequence {
                // It is written to all the time. The rest is little.
                try settleAlone()
                return nil
            }
            confirm(settling.length)
            if !settling.folders.isEmpty, state.unsettled.movedIn.count == settling.folders.count { leavePlaces() }
            try placeSettledHeader()
            guard settling.needsSecondFlush else {
                state.unsettled.guarded = state.unsettled.guardedSince
                unlistIfSettled()
                return nil
            }
            return Placement(file: self, generation: state.unsettled.placedGeneration, round: state.unsettled.round)
        }
    }

    func endSettling(_ placement: Placement) throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            guard state.unsettled.round == placement.round else { return }
            try finishSettling(placement.generation)
        }
    }
}

import Format
import Posix
import Store

// Bringing a backing file up to date: what the journal has goes into place, the length is confirmed, and old name
// bindings are forgotten. docs/DURABILITY.md has the order and the reasons.

extension File {
    /// Checkpoints the file at once, with flushes of its own. Needs `lock` exclusively.
    ///
    /// - Parameters:
    ///   - all: what stat(2) shows becomes durable too.
    ///   - confirming: what was written since the last sync becomes durable; otherwise only what the journal has.
    ///   - isMoving: a rename and another checkpoint follow.
    ///   - replaced: the time of the backing file that this one is about to replace.
    ///   - change: a change to the header, which is durable when this returns.
    package func checkpointAlone(
        all: Bool = false, confirming: Bool = true, isMoving: Bool = false, replacing replaced: Timespec? = nil,
        _ change: (inout FileHeader) -> Void = { _ in }
    ) throws(VaultError) {
        try copyIntoPlace()
        let hasLostSummary = try dropLongerSummary()
        let shown = try backing { () throws(Errno) in try shownTime() }
        let hasData = confirming && (state.length != state.header.length || !state.sync.isDataSynced)
        let isConfirmed = all || hasData || state.journal.hasRecords
        if isConfirmed || hasLostSummary || state.needsPending {
            try flush(dataOnly: !all && !hasLostSummary)
            state.durable.didFlush(state.durable.placed.generation)
        }
        if isConfirmed {
            confirm(state.length)
            state.sync.didConfirmContents()
        }
        let before = state.header
        change(&state.header)
        do throws(VaultError) {
            try writeCheckpointedHeader(replacing: replaced)
            // If the header were durable before its stamp, a copier would take it for the one before.
            try flush(dataOnly: isMoving)
            state.durable.didFlushTruncation()
        } catch {
            // What is on disk now is unknown. The next reader finds the header as it was.
            let generation = state.header.generation
            state.header = before
            state.header.generation = generation
            state.times.show(modified: shown)
            try? writeCheckpointedHeader()
            throw error
        }
        state.sync.didCheckpoint(isWhole: state.length == state.header.length)
        try finishCheckpoint(state.durable.placed.generation)
    }

    /// Copies the blocks that lie in the journal into the backing file, once they are durable in the journal. Needs
    /// `lock` exclusively.
    func copyIntoPlace() throws(VaultError) {
        try writeTornInPlace()
        guard !state.journal.isEmpty else { return }
        if state.journal.records == .headerless { try journalMissingHeader() }
        let file = try writable()
        try keepingChangeTime { (_) throws(VaultError) in try copyIntoPlace(of: file) }
    }

    /// Removes a summary that tells of a longer file, and says whether the removal must be made durable. Needs `lock`
    /// exclusively.
    private func dropLongerSummary() throws(VaultError) -> Bool {
        if state.needsPending { return false }
        // Usually nothing has been truncated, and this is all that it costs.
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
            // Flushed first: a crash in the middle of the copying needs the records.
            try journal.flush(upTo: state.journal.sequence)
            let modified = try shownTime()
            try punchHolesInPlace(in: file)
            try writeJournaledBlocksInPlace(of: journal, in: file)
            state.times.show(modified: modified)
        }
    }

    /// Copies the blocks that lie in the journal, with one write for each run of adjacent blocks of the file.
    private func writeJournaledBlocksInPlace(of journal: Journal, in file: Descriptor) throws(Errno) {
        let extents = state.journal.blocks.sorted { $0.key < $1.key }
        let size = Int(BlockGeometry.storedBlockSize)
        var stored = [UInt8](repeating: 0, count: min(extents.count, Scratch.blocks) * size)
        var begin = 0
        while begin < extents.count {
            var (end, count) = (begin, 0)
            // Only a last block is shorter, and no block comes behind it.
            while end < extents.count, end - begin < Scratch.blocks, count == (end - begin) * size,
                extents[end].key == extents[begin].key + UInt64(end - begin)
            {
                count += extents[end].value.count
                end += 1
            }
            do {
                var elements = stored.mutableSpan
                var bytes = unsafe elements.mutableBytes
                try journal.read(extents[begin..<end].map(\.value), spacing: size, into: &bytes)
            }
            try writeInPlace(unsafe stored.span.bytes.extracting(0..<count), asBlock: extents[begin].key, in: file)
            begin = end
        }
    }

    /// Writes the header on top of blocks that are all durable in place, or will never be confirmed. Once this header
    /// is durable, all records before it are dead. Needs `lock` exclusively.
    func writeCheckpointedHeader(replacing replaced: Timespec? = nil) throws(VaultError) {
        state.durable.willCheckpoint(confirming: state.header.length)
        let generation = state.durable.placed.generation
        // Even if its time could not be set: no record so far fits the header that is in place now.
        defer {
            if state.durable.placed.generation != generation {
                state.journal.didCheckpoint(state.durable.placed.generation)
                state.sync.beginRound()
            }
        }
        try writeStampedHeader(replacing: replaced)
    }

    /// Ends a checkpoint after the header of a generation was flushed: the file needs neither its records nor what lies
    /// behind its end. Needs `lock` exclusively.
    func finishCheckpoint(_ generation: UInt64) throws(VaultError) {
        state.durable.didFlush(generation)
        state.names.didFlushHeader()
        try backing { () throws(Errno) in
            // A rename of a folder above may have appended a record with another path, of which the file does not know.
            try vault.openJournal().release(identity, upTo: state.journal.releasable)
        }
        // If blocks below the durable end have gone into the journal during that flush, the durable end stays: if they
        // were written in place now, replay would put the journal's versions over them. The next checkpoint lowers it.
        guard !state.journal.hasRecords else { return }
        state.durable.lowerEnd()
        // A stale tail may be a part of the last block: the next writer, which has a key, looks at it.
        if !state.repair.hasStaleTail { try truncateBackingFile(isConfirmed: true) }
        unlistIfClean()
    }

    /// Takes the file off the dirty list if nothing of it waits for a checkpoint. Needs `lock` exclusively.
    func unlistIfClean() {
        guard state.sync.isListed, !state.journal.hasRecords, !state.names.hasChanges,
            state.header.length == state.length || state.repair.isUnproven,
            state.sync.isHeaderCurrent,
            state.durable.end <= state.length, !state.remembersHeaders
        else { return }
        state.sync.didUnlist()
        vault.files.unlist(self)
    }

    // MARK: Several files at once

    /// What a file's checkpoint found when it began.
    struct Checkpoint {
        let file: File
        let status: FileStatus
        let length: UInt64
        let generation: UInt64
        let round: UInt64
        let sequence: UInt64
        /// The folders whose names must be durable.
        let folders: [Descriptor]
        /// The file has lost its last name, and the journal has what was synced before.
        var isRemoval = false
        /// The new header must be durable before the checkpoint of the file is done.
        let needsSecondFlush: Bool
        /// The file's summary has been removed, which must be durable before the new header is.
        var hasLostSummary = false
    }

    /// Puts into place what the journal has; nil for a file without a name that needs nothing more.
    func beginCheckpoint() throws(VaultError) -> Checkpoint? {
        try lock.withExclusive { () throws(VaultError) in
            let status = try backing { () throws(Errno) in try vault.store.status(of: descriptor) }
            // Nothing is written to it here: a crash may undo the removal, and must find the file unharmed.
            if status.linkCount == 0 && state.journal.isEmpty {
                state.names.didFindNoName()
                // That crash must find the records too, which may have more than the backing file.
                let isKnown = state.journal.hasRecords || state.names.hasChanges
                if isKnown && state.names.removal != .durable {
                    return Checkpoint(
                        file: self, status: status, length: 0, generation: 0, round: 0, sequence: 0,
                        folders: state.names.removedFrom.map { [$0] + state.names.folders } ?? [],
                        isRemoval: true,
                        needsSecondFlush: false)
                }
                try forgetRemoved()
                return nil
            }
            try copyIntoPlace()
            let hasLostSummary = try dropLongerSummary()
            raiseDurableEnd()
            return Checkpoint(
                file: self, status: status, length: state.length, generation: state.durable.placed.generation,
                round: state.sync.round, sequence: state.journal.sequence,
                folders: state.names.folders,
                needsSecondFlush: state.journal.hasRecords
                    || UInt64(status.size) > BlockGeometry.backingSize(forLength: state.length),
                hasLostSummary: hasLostSummary)
        }
    }

    /// Ends the checkpoint of a file after it is durable that the file has lost its last name.
    func finishRemoval() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            state.names.didFlushRemoval()
            dropOldBindings()
            try forgetRemoved()
        }
    }

    /// Forgets a file that is gone for good: nothing of it needs a checkpoint. Needs `lock` exclusively.
    private func forgetRemoved() throws(VaultError) {
        state.journal.didRemove()
        state.sync.didUnlist()
        try backing { () throws(Errno) in try vault.openJournal().release(identity, upTo: .max) }
        vault.files.unlist(self)
    }

    /// A header that a checkpoint has written in place, and that is to be flushed.
    struct CheckpointedHeader {
        let file: File
        let generation: UInt64
        let round: UInt64
    }

    /// Writes the header, once all that was there when the checkpoint began is durable in place. Nil if the file is
    /// done.
    func continueCheckpoint(_ checkpoint: Checkpoint) throws(VaultError) -> CheckpointedHeader? {
        try lock.withExclusive { () throws(VaultError) in
            // Another thread has checkpointed it since, or it was truncated: it is done, or the next checkpoint takes
            // it.
            guard state.sync.round == checkpoint.round else { return nil }
            state.durable.didFlush(checkpoint.generation)
            state.names.didFlushHeader()
            if state.journal.sequence != checkpoint.sequence {
                // The file is written to all the time. What still has to be flushed is little.
                try checkpointAlone()
                return nil
            }
            confirm(checkpoint.length)
            if !checkpoint.folders.isEmpty, state.names.folders.count == checkpoint.folders.count {
                dropOldBindings()
            }
            try writeCheckpointedHeader()
            guard checkpoint.needsSecondFlush else {
                state.durable.lowerEnd()
                unlistIfClean()
                return nil
            }
            return CheckpointedHeader(
                file: self, generation: state.durable.placed.generation, round: state.sync.round)
        }
    }

    func endCheckpoint(_ written: CheckpointedHeader) throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            guard state.sync.round == written.round else { return }
            try finishCheckpoint(written.generation)
        }
    }
}

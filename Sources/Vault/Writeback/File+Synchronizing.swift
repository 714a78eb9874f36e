import Format
import Posix
import Store
import Writeback

// fsync(2): docs/DURABILITY.md.

extension File {
    /// Makes all that was written durable, with the length that covers it. Unless `dataOnly`, what stat(2) shows
    /// becomes durable too, and the names that the file has got or lost.
    public func synchronize(dataOnly: Bool) throws(VaultError) {
        guard !vault.isReadOnly else { return }
        // After a failed flush, the blocks that the journal would copy may be gone from the page cache.
        try refuseAfterFailure()
        // A full disk may have stopped an earlier attempt: no header confirms an unproven file.
        if outline.isUnproven { try prove() }
        guard dataOnly else { return try synchronizeAll() }
        while true {
            switch lock.withShared({ state.dataSync() }) {
            case .flushJournal(let sequence): return try flushJournal(upTo: sequence)
            case .confirmInJournal: if try confirmInJournal() { return }
            case .confirmInPlace: if try confirmInPlace() { return }
            }
        }
    }

    private func synchronizeAll() throws(VaultError) {
        // Most of it without the lock, so that other requests do not wait.
        if lock.withShared({ state.dataSync() }) == .confirmInPlace { try flush(dataOnly: true) }
        try lock.withExclusive { () throws(VaultError) in
            try flushBindings()
            if let steps = state.stepsToSyncFirst(isStampSpent: isStampSpent) {
                try perform(steps)
            } else {
                try checkpointAlone(CheckpointRequest(all: true))
            }
        }
    }

    /// Has the header in the backing file confirm all of the file, which is durable. Its generation and its time stay;
    /// bindings of names that are durably gone may go. It does not matter which of the two a crash finds, so no flush
    /// follows.
    func confirmPlacedHeader() throws(VaultError) {
        state.willConfirmPlacedHeader()
        try keepingChangeTime { (own) throws(VaultError) in
            let file = try writable()
            try confirming(state.length) { () throws(VaultError) in
                let bytes = signedHeader()
                try backing { () throws(Errno) in
                    try vault.keepingSetID(of: file) { () throws(Errno) in
                        try vault.store.write(unsafe bytes.span.bytes, to: file, at: 0)
                    }
                }
            }
            vault.flushes.headerWrites.add(1, ordering: .releasing)
            state.didConfirmPlacedHeader()
            try keepModified(own)
        }
    }

    /// After a write that moved the backing file's time of modification, which belongs to the placed header.
    private func keepModified(_ own: FileStatus) throws(VaultError) {
        do throws(Errno) {
            try vault.store.setTimes(accessed: .keep, modified: .at(own.modified), of: descriptor)
        } catch {
            // The next checkpoint writes the header again, with its time.
            state.times.show(
                modified: state.times.modified ?? state.header.shownTime(of: own.modified))
            state.sync.needsHeader()
            return list()
        }
        if own.linkCount == 1, !state.needsPending { vault.summarize(state.header, of: descriptor) }
    }

    /// The file has got or lost a name since its folders were last flushed.
    public var hasFreshNames: Bool { lock.withShared { state.names.hasChanges } }

    /// False if there are more blocks to copy than expected.
    private func confirmInJournal() throws(VaultError) -> Bool {
        var sequence: UInt64?
        try withRoom(Journal.roomForFile + Journal.roomForBlocks(FileState.mostMirrored)) { (_) throws(VaultError) in
            guard state.dataSync() != .confirmInPlace else { return true }
            while let step = state.nextStepToConfirmInJournal {
                try perform(step)
                if step == .appendFreshBlocks { break }
            }
            state.didConfirmInJournal()
            sequence = state.journal.sequence
            return true
        }
        guard let sequence else { return false }
        try flushJournal(upTo: sequence)
        return true
    }

    /// Copies what no header has confirmed into the journal, with a header that does.
    func appendFreshBlocks() throws(VaultError) {
        let fresh = state.freshBlocks()
        try confirming(state.length) { () throws(VaultError) in
            // The cipher is not used: the blocks are copied as they are, encrypted.
            try vault.memory.scratches.withIdleScratch { (scratch) throws(VaultError) in try mirror(fresh, scratch) }
        }
    }

    /// False if the file was truncated meanwhile.
    private func confirmInPlace() throws(VaultError) -> Bool {
        let mark = try lock.withExclusive { () throws(VaultError) in
            try perform(state.stepsBeforeConfirmingInPlace)
            return state.flushMark
        }
        try flush(dataOnly: true)
        var sequence: UInt64?
        try withRoom(2 * Journal.roomForFile) { (_) throws(VaultError) in
            guard state.isCovered(by: mark) else { return true }
            let before = state
            state.willConfirmInPlace(mark)
            do throws(VaultError) {
                try confirming(mark.length) { () throws(VaultError) in try journalHeader() }
            } catch {
                state.takeBackConfirmation(before)
                throw error
            }
            try makeRemovalDurable()
            state.didConfirmInPlace(mark)
            sequence = state.journal.sequence
            return true
        }
        guard let sequence else { return false }
        try flushJournal(upTo: sequence)
        return true
    }

    /// Confirms what is below `length` by the header that `body` writes, or not at all.
    private func confirming(_ length: UInt64, _ body: () throws(VaultError) -> Void) throws(VaultError) {
        let before = state.header.length
        state.confirm(length)
        do throws(VaultError) { try body() } catch {
            state.header.length = before
            throw error
        }
    }
}

import Format
import Posix
import Store
import Writeback

// Bringing a backing file up to date: what the journal has goes into place, the length is confirmed, and old name
// bindings are forgotten. docs/DURABILITY.md has the order and the reasons.

extension File {
    /// Checkpoints the file at once, with flushes of its own. Needs `lock` exclusively.
    ///
    /// - Parameters:
    ///   - replaced: the time of the backing file that this one is about to replace.
    ///   - copied: the blocks that are in place already, durably.
    ///   - change: a change to the header, which is durable when this returns.
    package func checkpointAlone(
        _ request: CheckpointRequest, replacing replaced: Timespec? = nil, copied: JournaledBlocks = [:],
        _ change: (inout FileHeader) -> Void = { _ in }
    ) throws(VaultError) {
        let plan = state.stepsToCheckpoint(request, isTailLonger: try isTailLonger())
        try perform(plan.prepare, copied: copied)
        let shown = try backing { () throws(Errno) in try shownTime() }
        let before = state.header
        change(&state.header)
        do throws(VaultError) {
            for step in plan.commit { try perform(step, replacing: replaced) }
        } catch {
            // What is on disk now is unknown. The next reader finds the header as it was.
            let generation = state.header.generation
            state.header = before
            state.header.generation = generation
            state.times.show(modified: shown)
            try? placeCheckpoint()
            throw error
        }
        state.didCheckpoint()
        try perform(plan.finish)
    }

    /// Whether the backing file is longer than the file needs, apart from what only a crash would need.
    private func isTailLonger() throws(VaultError) -> Bool {
        let size = try backing { () throws(Errno) in try vault.store.status(of: descriptor).size }
        return isTailLonger(size)
    }

    private func isTailLonger(_ size: Int64) -> Bool {
        UInt64(size) > BlockGeometry.backingSize(forLength: state.length)
    }

    /// Copies the blocks that lie in the journal, where they are durable, into the backing file. Needs `lock`
    /// exclusively.
    ///
    /// - Parameter ahead: what `copyAhead` has copied.
    func copyIntoPlace(but ahead: JournaledBlocks) throws(VaultError) {
        try changingInPlace { (file) throws(Errno) in
            try punchHolesInPlace(in: file)
            let blocks = state.journal.blocks.filter { ahead[$0.key] != $0.value }
            try writeInPlace(blocks.sorted { $0.key < $1.key }[...], in: file)
        }
    }

    /// Where blocks lie in the journal.
    package typealias JournaledBlocks = [UInt64: JournalExtent]

    /// So many blocks are copied while programs wait for the file's lock: 256 KiB.
    private static let blocksCopiedAtOnce = 64

    /// Copies blocks that lie in the journal into the backing file, a few at a time, so that programs need not wait for
    /// all of them when the checkpoint begins. The records still count, so a crash finds them. Returns the blocks that
    /// it has copied: they are in place as long as the journal has no newer ones.
    func copyAhead() throws(VaultError) -> JournaledBlocks {
        let (blocks, sequence) = try lock.withExclusive { () throws(VaultError) -> (JournaledBlocks, UInt64) in
            // Behind each block there must be a header, or a crash would not use the block.
            guard state.journal.records == .complete, state.journal.blocks.count > Self.blocksCopiedAtOnce,
                try backing({ () throws(Errno) in try vault.store.status(of: descriptor) }).linkCount > 0
            else { return ([:], 0) }
            return (state.journal.blocks, state.journal.sequence)
        }
        guard !blocks.isEmpty else { return [:] }
        try flushJournal(upTo: sequence)
        let sorted = blocks.sorted { $0.key < $1.key }
        var copied: JournaledBlocks = [:]
        for begin in stride(from: 0, to: sorted.count, by: Self.blocksCopiedAtOnce) {
            try lock.withExclusive { () throws(VaultError) in
                let some = sorted[begin...].prefix(Self.blocksCopiedAtOnce).filter {
                    state.journal.blocks[$0.key] == $0.value
                }
                guard !some.isEmpty else { return }
                try changingInPlace { (file) throws(Errno) in try writeInPlace(some[...], in: file) }
                for block in some { copied[block.key] = block.value }
            }
        }
        return copied
    }

    /// Runs `body`, which changes the backing file, and keeps the times that the file shows. Needs `lock` exclusively.
    private func changingInPlace(_ body: (Descriptor) throws(Errno) -> Void) throws(VaultError) {
        let file = try writable()
        try keepingChangeTime { (_) throws(VaultError) in
            try backing { () throws(Errno) in
                let modified = try shownTime()
                try body(file)
                state.times.show(modified: modified)
            }
        }
    }

    /// Removes a summary that tells of a longer file. Needs `lock` exclusively.
    func dropSummary() throws(VaultError) {
        let file = try writable()
        try keepingChangeTime { (_) throws(VaultError) in
            _ = try vault.dropSummary(of: file, ifLongerThan: state.length)
        }
    }

    /// Copies blocks that lie in the journal, in their order: one write for each run of adjacent blocks of the file.
    private func writeInPlace(_ extents: ArraySlice<JournaledBlocks.Element>, in file: Descriptor) throws(Errno) {
        let journal = try vault.openJournal()
        let size = Int(BlockGeometry.storedBlockSize)
        var stored = [UInt8](repeating: 0, count: min(extents.count, Scratch.blocks) * size)
        var begin = extents.startIndex
        while begin < extents.endIndex {
            var (end, count) = (begin, 0)
            // Only a last block is shorter, and no block comes behind it.
            while end < extents.endIndex, end - begin < Scratch.blocks, count == (end - begin) * size,
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

    /// Writes the header on top of blocks that are all durable in place, or will never be confirmed. Needs `lock`
    /// exclusively.
    func placeCheckpoint(replacing replaced: Timespec? = nil) throws(VaultError) {
        state.willPlaceCheckpoint()
        let generation = state.durable.placed.generation
        defer { if state.durable.placed.generation != generation { state.didPlaceCheckpoint() } }
        try writeStampedHeader(replacing: replaced)
    }

    /// Releases the file's dead records in the journal.
    func releaseRecords() throws(VaultError) {
        try backing { () throws(Errno) in
            // A rename of a folder above may have appended a record with another path, of which the file does not know.
            try vault.openJournal().release(identity, upTo: state.journal.releasable)
        }
    }

    /// Takes the file off the dirty list if nothing of it waits for a checkpoint. Needs `lock` exclusively.
    func unlistIfDone() {
        guard state.sync.isListed, state.isWaitingForNothing else { return }
        state.sync.didUnlist()
        vault.files.unlist(self)
    }

    // MARK: Several files at once

    /// What a file's checkpoint found when it began.
    struct Checkpoint {
        let file: File
        let status: FileStatus
        let mark: FileState.FlushMark
        let sequence: UInt64
        /// The folders whose names must be durable.
        let folders: [Descriptor]
        /// The file has lost its last name, and the journal has what was synced before.
        var isRemoval = false
        /// The new header must be durable before the checkpoint of the file is done.
        var needsSecondFlush = false
        /// What the checkpoint has copied into place.
        var copied: JournaledBlocks = [:]
        /// The file's summary may have been removed, which must be durable before the new header is.
        var hasLostSummary = false
    }

    /// Puts into place what the journal has; nil for a file without a name that needs nothing more.
    func beginCheckpoint() throws(VaultError) -> Checkpoint? {
        let ahead = try copyAhead()
        return try lock.withExclusive { () throws(VaultError) in
            let status = try backing { () throws(Errno) in try vault.store.status(of: descriptor) }
            if status.linkCount == 0 && state.journal.isEmpty { state.names.didFindNoName() }
            let isTailLonger = isTailLonger(status.size)
            switch state.beginningOfCheckpoint(hasLinks: status.linkCount > 0, isTailLonger: isTailLonger) {
            case .forget:
                try forgetRemoved()
                return nil
            case .removal:
                return Checkpoint(
                    file: self, status: status, mark: state.flushMark, sequence: 0,
                    folders: state.names.removedFrom.map { [$0] + state.names.folders } ?? [], isRemoval: true)
            case .copy(let steps):
                let needsSecondFlush = state.needsSecondFlush(isTailLonger: isTailLonger)
                try perform(steps, copied: ahead)
                return Checkpoint(
                    file: self, status: status, mark: state.flushMark, sequence: state.journal.sequence,
                    folders: state.names.folders, needsSecondFlush: needsSecondFlush, copied: state.journal.blocks,
                    hasLostSummary: steps.contains(.dropSummary))
            }
        }
    }

    /// Ends the checkpoint of a file after it is durable that the file has lost its last name.
    func finishRemoval() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            state.names.didFlushRemoval()
            state.didFlushFolders()
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
        let mark: FileState.FlushMark
    }

    /// Writes the header, once all that was there when the checkpoint began is durable in place. Nil if the file is
    /// done.
    func continueCheckpoint(_ checkpoint: Checkpoint) throws(VaultError) -> CheckpointedHeader? {
        try lock.withExclusive { () throws(VaultError) in
            switch state.continuation(since: checkpoint.mark, checkpoint.sequence) {
            case .leave: return nil
            case .alone:
                state.didFlush(checkpoint.mark.generation)
                try checkpointAlone(CheckpointRequest(), copied: checkpoint.copied)
                return nil
            case .place:
                state.didFlush(checkpoint.mark.generation)
                state.confirm(checkpoint.mark.length)
                // A name that was lost or gained meanwhile lies in a folder that was not flushed.
                if state.hasSameNames(as: checkpoint.mark) { state.didFlushFolders() }
                try placeCheckpoint()
                guard checkpoint.needsSecondFlush else {
                    try perform(state.stepsWithoutFlush)
                    return nil
                }
                return CheckpointedHeader(file: self, mark: state.flushMark)
            }
        }
    }

    func endCheckpoint(_ written: CheckpointedHeader) throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            guard state.isCovered(by: written.mark) else { return }
            state.didFlush(written.mark.generation)
            try perform(state.stepsToFinishCheckpoint)
        }
    }
}

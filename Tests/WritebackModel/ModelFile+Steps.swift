import Format
import Writeback

extension ModelFile {
    mutating func perform(_ steps: [WriteStep]) {
        for step in steps { perform(step) }
    }

    /// Carries out what comes next until nothing does.
    mutating func perform(_ next: (FileState) -> WriteStep?) {
        var count = 0
        while let step = next(state) {
            count += 1
            guard count < 20 else { return fault = "the plan has no end" }
            perform(step)
            if step == .appendFreshBlocks { return }
        }
    }

    /// Carries a step out in the model: `File.perform`.
    mutating func perform(_ step: WriteStep) {
        switch step {
        case .flushFolders:
            disk.metadata.flush()
            state.didFlushFolders()
        case .flushRemoval:
            disk.metadata.flush()
            state.names.didFlushRemoval()
        case .leap: leap()
        case .declareIntent: declareIntent()
        case .appendHeader: appendHeader()
        case .appendFreshBlocks: appendFreshBlocks()
        case .flushJournal: disk.flushJournal(upTo: state.journal.sequence)
        case .releaseRecords: disk.release(upTo: state.journal.releasable)
        case .writeTorn, .dropSummary: break
        case .copyIntoPlace:
            for (block, extent) in state.journal.blocks.sorted(by: { $0.key < $1.key }) {
                write(sealed(in: extent), block: Int(block))
            }
        case .flush(let all):
            disk.flush(all: all)
            state.didFlush()
        case .placeHeader: placeHeader()
        case .placeCheckpoint: placeCheckpoint()
        case .confirmPlacedHeader: confirmPlacedHeader()
        case .cutTail: cutTail(isConfirmed: true)
        case .raiseEnd: state.raiseEnd()
        case .confirm: state.didConfirm()
        case .lowerEnd: state.durable.lowerEnd()
        case .unlist: if state.sync.isListed, state.isWaitingForNothing { state.sync.didUnlist() }
        }
        pass()
    }

    // MARK: Names

    private mutating func leap() {
        guard name != 0 else { return state.journal.didDistinguish() }
        state.header.generation += 100
        placeHeader()
        pass()
        disk.flush(all: true)
        state.didFlush()
        state.journal.didDistinguish()
    }

    private mutating func declareIntent() {
        guard name != 0 else { return state.names.didFindNoName() }
        list()
        let flushed = state.durable.flushedGeneration
        let sequence = disk.append(.intent(name: name, low: flushed, high: state.durable.placed.generation))
        if flushed == 0 { isUncommitted = true }
        state.journal.didAppendIntent(sequence, isAll: flushed == 0)
    }

    /// The journal must not make the file again.
    ///
    /// - Parameter durably: before this returns.
    mutating func forget(durably: Bool) {
        guard isUncommitted else { return }
        isUncommitted = false
        let sequence = disk.append(.forget)
        if durably { disk.flushJournal(upTo: sequence) }
        pass()
    }

    // MARK: The journal

    mutating func beginRecords() -> Bool {
        perform { $0.nextStepToRecords }
        return state.names.removal == .named
    }

    mutating func appendHeader() {
        guard beginRecords() else { return }
        appendWithHeader([])
    }

    /// All of it or nothing, as `Journal.appendTogether` does. A crash may find the blocks without the header.
    private mutating func appendWithHeader(_ blocks: [(Int, Sealed)]) {
        state.willAppendHeader()
        for (block, sealed) in blocks { _ = disk.append(.block(block, sealed)) }
        let header = headerToWrite()
        state.didAppendHeader(disk.append(.header(header)))
        pass()
    }

    /// Writes blocks into the journal, with a header behind them.
    mutating func journal(_ blocks: [(Int, Sealed)]) {
        guard beginRecords() else {
            for (block, sealed) in blocks { putNameless(sealed, block: block) }
            return
        }
        let first = disk.records.count + 1
        appendWithHeader(blocks)
        state.journal.didAppend(
            blocks.enumerated().map {
                (UInt64($1.0), JournalExtent(offset: 0, count: $1.1.count, sequence: UInt64(first + $0)))
            })
    }

    /// Writes a block into the journal; a header must follow.
    mutating func journal(_ sealed: Sealed, block: Int) {
        guard beginRecords() else { return putNameless(sealed, block: block) }
        let sequence = disk.append(.block(block, sealed))
        state.journal.didAppend(
            JournalExtent(offset: 0, count: sealed.count, sequence: sequence), asBlock: UInt64(block))
        pass()
    }

    private mutating func putNameless(_ sealed: Sealed, block: Int) {
        perform { $0.nextStepToRemoval }
        state.journal.forget(UInt64(block))
        write(sealed, block: block)
    }

    private func sealed(in extent: JournalExtent) -> Sealed {
        guard case .block(_, let sealed) = disk.records[Int(extent.sequence) - 1] else {
            fatalError("an extent of another record")
        }
        return sealed
    }

    private mutating func appendFreshBlocks() {
        let fresh = state.freshBlocks()
        state.confirm(state.length)
        let copies = fresh.map { block in
            guard case .sealed(let sealed) = disk.cells[Int(block)].current else { fatalError("a block is not there") }
            return (Int(block), sealed)
        }
        appendWithHeader(copies)
    }

    // MARK: The backing file

    mutating func write(_ sealed: Sealed, block: Int) {
        disk.write(sealed, block: block)
        pass()
    }

    mutating func placeHeader() {
        state.willPlaceHeader()
        let header = headerToWrite()
        disk.header.write(header)
        state.didPlaceHeader()
        pass()
        summarize()
    }

    /// A summary takes the place of pending bindings.
    private mutating func summarize() {
        guard disk.metadata.current.pending != nil, state.allowsSummary(isOnlyLink: true) else { return }
        disk.metadata.write(Metadata(name: name, pending: nil))
        pass()
    }

    mutating func placeCheckpoint() {
        state.willPlaceCheckpoint()
        placeHeader()
        state.didPlaceCheckpoint()
    }

    private mutating func confirmPlacedHeader() {
        state.willConfirmPlacedHeader()
        state.confirm(state.length)
        let header = headerToWrite()
        disk.header.write(header)
        state.didConfirmPlacedHeader()
        pass()
        summarize()
    }

    mutating func cutTail(isConfirmed: Bool) {
        guard disk.size.current > neededSize else { return }
        disk.truncate(to: neededSize)
        if !isConfirmed { state.durable.didTruncate() }
        pass()
        guard isConfirmed else { return }
        disk.flush(all: false)
        state.durable.didFlushTruncation()
    }
}

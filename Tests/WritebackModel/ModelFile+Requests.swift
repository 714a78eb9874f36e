import Format
import Writeback

/// What a program, a checkpointer or the kernel asks for.
public enum ModelEvent: Hashable, Sendable {
    case write(unit: Int)
    case truncate(Int)
    case close
    case dataSync
    /// A sync of more than is copied into the journal: its flush, which others do not wait for, comes between.
    case beginSyncInPlace
    case endSyncInPlace
    case sync
    case beginCheckpoint
    case placeCheckpoint
    case endCheckpoint
    case rename(UInt8, replaces: Bool)
    case unlink
    case syncFolder
    case reopen
}

extension ModelFile {
    /// What may happen now.
    var possibleEvents: [ModelEvent] {
        var events: [ModelEvent] = (0..<min(length + 1, mostUnits)).map { .write(unit: $0) }
        events += (0..<length).map { .truncate($0) }
        events += [.close, .dataSync, .sync]
        events.append(sync == nil ? .beginSyncInPlace : .endSyncInPlace)
        switch checkpoint {
        case nil: if state.sync.isListed { events.append(.beginCheckpoint) }
        case .begun, .removal: events.append(.placeCheckpoint)
        case .placed: events.append(.endCheckpoint)
        }
        if name != 0 {
            for name: UInt8 in [1, 2] where name != self.name {
                events += [.rename(name, replaces: false), .rename(name, replaces: true)]
            }
            events += [.unlink, .syncFolder]
            if !state.sync.isListed, sync == nil, checkpoint == nil { events.append(.reopen) }
        }
        return events
    }

    mutating func handle(_ event: ModelEvent) {
        switch event {
        case .write(let unit): write(unit)
        case .truncate(let end): truncate(to: end)
        case .close:
            if let place = state.headerAtClose(isStampSpent: rules.isStampSpent) { writeHeader(to: place) }
        case .dataSync: dataSync()
        case .beginSyncInPlace: beginSyncInPlace()
        case .endSyncInPlace: endSyncInPlace()
        case .sync: syncAll()
        case .beginCheckpoint: beginCheckpoint()
        case .placeCheckpoint: continueCheckpoint()
        case .endCheckpoint: endCheckpoint()
        case .rename(let name, let replaces): rename(to: name, replaces: replaces)
        case .unlink: unlink()
        case .syncFolder: syncFolder()
        case .reopen: reopen()
        }
        // When a half of the journal is freed, a file that is not listed counts as checkpointed: `Vault.release`.
        if !state.sync.isListed {
            disk.release(upTo: .max)
            pass()
        }
        if sync == nil, checkpoint == nil { disk.forgetCounts() }
    }

    /// A crash may find a change from now on, also if a flush succeeds that is under way.
    private mutating func allow(_ change: Promise.Change) {
        promise.contents.allow(change)
        promise.replaced?.allow(change)
        sync?.contents.allow(change)
    }

    /// A header with the new length comes before a change is acknowledged, where close(2) is not reported.
    private mutating func keepLength() {
        guard rules.keepsLengths, let place = state.headerAfterChange else { return }
        if place == .journal { return appendHeader() }
        placeHeader()
        state.sync.needsHeader()
    }

    private mutating func noteChange() {
        state.sync.willChange()
        list()
    }

    private mutating func writeHeader(to place: FileState.HeaderPlace) {
        switch place {
        case .backingFile: placeHeader()
        case .journal: appendHeader()
        }
    }

    // MARK: Contents: File+Writing.swift, File+Length.swift

    private mutating func write(_ unit: Int) {
        truncateStaleTail()
        let block = unit / unitsPerBlock
        let end = max(length, unit + 1)
        if state.mustFlushTruncation(toReach: UInt64(unit + 1) * bytesPerUnit) { perform(.flush(all: false)) }
        writes += 1
        units[unit] = writes
        allow(.write(writes, unit: unit, length: end))
        noteChange()
        let sealed = Sealed(units, block: block, length: end)
        if state.firstInPlace(of: UInt64(block)...UInt64(block)) == UInt64(block) {
            write(sealed, block: block)
            state.length = UInt64(end) * bytesPerUnit
        } else {
            state.length = UInt64(end) * bytesPerUnit
            journal([(block, sealed)])
        }
        keepLength()
    }

    private mutating func truncateStaleTail() {
        guard state.repair.hasStaleTail else { return }
        cutTail(isConfirmed: true)
        state.repair.didTruncateTail()
    }

    private mutating func truncate(to end: Int) {
        truncateStaleTail()
        noteChange()
        allow(.cut(end))
        for unit in end..<mostUnits { units[unit] = 0 }
        let bytes = UInt64(end) * bytesPerUnit
        let plan = state.truncation(to: bytes, isStampSpent: rules.isStampSpent)
        let isNamed = plan.header == .journal ? beginRecords() : true
        let block = end / unitsPerBlock
        let tail = end % unitsPerBlock > 0 ? (block, Sealed(units, block: block, length: end)) : nil
        state.willTruncate(to: bytes)
        let journalsTail = plan.journalsTail && isNamed
        switch plan.header {
        case .backingFile: placeHeader()
        case .journal: if isNamed { journal(journalsTail ? [tail!] : []) }
        }
        if let tail, !journalsTail {
            if UInt64(block) < state.durable.blocks {
                journal(tail.1, block: block)
            } else {
                write(tail.1, block: block)
            }
        }
        cutTail(isConfirmed: false)
        if state.checkpointsTruncation { checkpointAlone(CheckpointRequest()) }
        state.sync.needsHeaderSync()
        state.sync.needsHeader()
        list()
        keepLength()
    }

    // MARK: Syncs: File+Synchronizing.swift

    /// A sync has returned.
    ///
    /// - Parameter contents: what may be found from now on.
    private mutating func acknowledge(_ contents: Promise.Contents, names: Bool) {
        promise.contents = contents
        promise.replaced = nil
        // A sync of a file without a name promises nothing of the name that it had.
        if name != 0 {
            promise.mayBeVoid = false
            if names { acknowledgeName() }
        }
        pass()
    }

    private mutating func acknowledgeName() {
        // The first name of a new file is durable by an fsync if the store's own does that.
        if rules.isOrdered || promise.hasGotName { promise.mayBeMissing = false }
        promise.names = name
    }

    private mutating func dataSync() {
        if case .flushJournal(let sequence) = state.dataSync() {
            disk.flushJournal(upTo: sequence)
        } else {
            perform { $0.nextStepToConfirmInJournal }
            state.didConfirmInJournal()
            disk.flushJournal(upTo: state.journal.sequence)
        }
        acknowledge(current, names: false)
    }

    private var current: Promise.Contents { Promise.Contents(units, length: length) }

    private mutating func beginSyncInPlace() {
        guard state.dataSync(copying: 0) == .confirmInPlace else { return dataSync() }
        perform(state.stepsBeforeConfirmingInPlace)
        sync = BegunSync(mark: state.flushMark, flush: disk.mark, contents: current)
    }

    private mutating func endSyncInPlace() {
        guard let begun = sync else { return }
        sync = nil
        disk.flush(begun.flush, all: false)
        pass()
        guard state.isCovered(by: begun.mark) else { return }
        state.willConfirmInPlace(begun.mark)
        state.confirm(begun.mark.length)
        appendHeader()
        perform { $0.nextStepToRemoval }
        state.didConfirmInPlace(begun.mark)
        disk.flushJournal(upTo: state.journal.sequence)
        acknowledge(begun.contents, names: false)
    }

    private mutating func syncAll() {
        if state.names.hasChanges { perform(.flushFolders) }
        if let steps = state.stepsToSyncFirst(isStampSpent: rules.isStampSpent) {
            perform(steps)
        } else {
            checkpointAlone(CheckpointRequest(all: true))
        }
        acknowledge(current, names: true)
    }

    // MARK: Checkpoints: File+Checkpoint.swift

    private mutating func checkpointAlone(_ request: CheckpointRequest, _ change: (inout FileHeader) -> Void = { _ in })
    {
        let plan = state.stepsToCheckpoint(request, isTailLonger: isTailLonger)
        perform(plan.prepare)
        change(&state.header)
        perform(plan.commit)
        state.didCheckpoint()
        perform(plan.finish)
    }

    private mutating func beginCheckpoint() {
        disk.flushJournal(upTo: UInt64(disk.records.count))
        if name == 0, state.journal.isEmpty { state.names.didFindNoName() }
        switch state.beginningOfCheckpoint(hasLinks: name != 0, isTailLonger: isTailLonger) {
        case .forget:
            state.journal.didRemove()
            state.sync.didUnlist()
            disk.release(upTo: .max)
        case .removal: checkpoint = .removal
        case .copy(let steps):
            let needsSecondFlush = state.needsSecondFlush(isTailLonger: isTailLonger)
            perform(steps)
            checkpoint = .begun(
                state.flushMark, sequence: state.journal.sequence, needsSecondFlush: needsSecondFlush,
                all: steps.contains(.dropSummary), disk.mark)
        }
    }

    private mutating func continueCheckpoint() {
        defer { pass() }
        switch checkpoint {
        case .removal:
            checkpoint = nil
            disk.metadata.flush()
            state.names.didFlushRemoval()
            state.didFlushFolders()
            state.journal.didRemove()
            state.sync.didUnlist()
            disk.release(upTo: .max)
        case .begun(let mark, let sequence, let needsSecondFlush, let all, let flush):
            checkpoint = nil
            if state.names.hasChanges { disk.flushNames(flush) }
            disk.flush(flush, all: all)
            pass()
            switch state.continuation(since: mark, sequence) {
            case .leave: break
            case .alone:
                state.didFlush(mark.generation)
                checkpointAlone(CheckpointRequest())
            case .place:
                state.didFlush(mark.generation)
                state.confirm(mark.length)
                if state.hasSameNames(as: mark) { state.didFlushFolders() }
                placeCheckpoint()
                if needsSecondFlush {
                    checkpoint = .placed(state.flushMark, disk.mark)
                } else {
                    perform(state.stepsWithoutFlush)
                }
            }
        case .placed, nil: break
        }
    }

    private mutating func endCheckpoint() {
        guard case .placed(let mark, let flush) = checkpoint else { return }
        checkpoint = nil
        disk.flush(flush, all: false)
        pass()
        guard state.isCovered(by: mark) else { return }
        state.didFlush(mark.generation)
        perform(state.stepsToFinishCheckpoint)
    }

    // MARK: Names: File+NameBindings.swift

    private mutating func rename(to new: UInt8, replaces: Bool) {
        let (old, folder) = (name, ModelFile.folder)
        if state.names.hasChanges { perform(.flushFolders) }
        let binding = ModelFile.binding(new)
        let bindings = state.header.bindings.filter { $0 != binding } + [binding]
        let request = MoveRequest(
            folder: .zero, bindings: bindings, replaces: replaces, takesClass: false, isOnlyLink: true)
        if rules.isOrdered, state.way(of: request, isStampSpent: rules.isStampSpent) == .ordered {
            state.header.bindings = bindings
            forget(durably: true)
            placeHeader()
            let placed = headerToWrite()
            disk.metadata.write(
                Metadata(name: old, pending: ModelPending(names: placed.names, generation: placed.generation)))
            pass()
            state.names.didMoveInOrder(state.durable.placed.generation)
        } else {
            checkpointAlone(CheckpointRequest(confirming: replaces, isMoving: true)) { $0.bindings = bindings }
            forget(durably: true)
        }
        promise.names |= new
        promise.hasGotName = true
        promise.replaced = replaces ? Promise.Contents(units, length: length) : nil
        promise.replacedAt = new
        disk.metadata.write(Metadata(name: new, pending: disk.metadata.current.pending))
        state.names.didLeave(ModelFile.binding(old), [folder, folder], of: state.header.bindings)
        list()
        pass()
    }

    private mutating func unlink() {
        promise.mayBeMissing = true
        // The removal of a file that only the journal has may reach the disk before that of its name.
        if isUncommitted { promise.mayBeVoid = true }
        disk.metadata.write(Metadata(name: 0, pending: disk.metadata.current.pending))
        state.names.didLoseLastName(from: ModelFile.folder)
        pass()
        forget(durably: false)
    }

    /// fsync(2) of the folder: Vault+FreshFolders.swift.
    private mutating func syncFolder() {
        if state.names.createdIn != nil, state.mustTellOfCreation { appendHeader() }
        disk.flushJournal(upTo: UInt64(disk.records.count))
        pass()
        disk.metadata.flush()
        promise.mayBeVoid = false
        promise.mayBeMissing = false
        promise.names = name
        pass()
    }
}

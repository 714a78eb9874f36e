import Format
import Posix

/// Why a file is checkpointed alone, at once.
package struct CheckpointRequest {
    /// What stat(2) shows becomes durable too.
    package var all: Bool
    /// What was written since the last sync becomes durable; otherwise only what the journal has.
    package var confirming: Bool
    /// A rename and another checkpoint follow.
    package var isMoving: Bool

    package init(all: Bool = false, confirming: Bool = true, isMoving: Bool = false) {
        (self.all, self.confirming, self.isMoving) = (all, confirming, isMoving)
    }
}

/// A checkpoint of one file. If `commit` fails, the header is written as it was before; if `finish` fails, the
/// checkpoint has succeeded, and the next one does the rest.
package struct CheckpointPlan {
    /// Makes durable, in place, what the header will confirm.
    package let prepare: [WriteStep]
    /// Makes the header durable.
    package let commit: [WriteStep]
    /// Gives back what only older headers need.
    package let finish: [WriteStep]
}

extension FileState {
    /// Keeps: the header confirms only what is durable in place before it is written, and the journal's records stay
    /// until it is durable.
    ///
    /// - Parameter isTailLonger: the backing file is longer than the file needs.
    package func stepsToCheckpoint(_ request: CheckpointRequest, isTailLonger: Bool) -> CheckpointPlan {
        let hasData = request.confirming && (length != header.length || !sync.isDataSynced)
        let confirms = request.all || hasData || journal.hasRecords
        let drops = dropsSummary(isTailLonger: isTailLonger)
        var prepare = stepsIntoPlace
        if drops { prepare.append(.dropSummary) }
        if confirms || drops || needsPending { prepare.append(.flush(all: request.all || drops)) }
        if confirms { prepare.append(.confirm) }
        return CheckpointPlan(
            prepare: prepare,
            // If the header were durable before its stamp, a copier would take it for the one before.
            commit: [.placeCheckpoint, .flush(all: !request.isMoving)],
            finish: [.releaseRecords] + stepsBehindHeader)
    }

    /// Brings what the journal has into place. The records are durable first: a crash in the middle needs them.
    private var stepsIntoPlace: [WriteStep] {
        let torn: [WriteStep] = repair.torn.isEmpty ? [] : [.writeTorn]
        guard !journal.isEmpty else { return torn }
        // The header that an earlier failure kept from following its blocks.
        let missing: [WriteStep] = journal.records == .headerless ? [.appendHeader] : []
        return torn + missing + [.flushJournal, .copyIntoPlace]
    }

    /// A summary of a longer file would outlive the header that it belongs to. The attribute may have the file's
    /// pending bindings in its place.
    private func dropsSummary(isTailLonger: Bool) -> Bool { isTailLonger && !needsPending }

    /// Once the header is durable, what lies behind its end is no longer needed. A stale tail may be a part of the last
    /// block: the next writer, which has a key, looks at it.
    private var stepsBehindHeader: [WriteStep] {
        [.lowerEnd] + (repair.hasStaleTail ? [] : [.cutTail]) + [.unlist]
    }

    /// What a checkpoint waits for before it forgets the file.
    package var isWaitingForNothing: Bool {
        !journal.hasRecords && !names.hasChanges && (header.length == length || repair.isUnproven)
            && sync.isHeaderCurrent && durable.end <= length && !remembersHeaders
    }

    // MARK: Several files at once

    /// How a checkpoint of several files begins with one of them.
    package enum CheckpointBeginning: Equatable {
        /// The file is gone for good.
        case forget
        /// It is made durable that the file has lost its last name: until then a crash needs what the journal has.
        case removal
        case copy([WriteStep])
    }

    /// - Parameter hasLinks: the backing file has a name.
    ///
    /// Keeps: nothing is written to a file that has lost its last name, unless the journal has contents of it: a crash
    /// may undo the removal, and must find the file unharmed.
    package func beginningOfCheckpoint(hasLinks: Bool, isTailLonger: Bool) -> CheckpointBeginning {
        guard hasLinks || !journal.isEmpty else {
            // That crash must find the records too, which may have more than the backing file.
            let isKnown = journal.hasRecords || names.hasChanges
            return isKnown && names.removal != .durable ? .removal : .forget
        }
        return .copy(
            stepsIntoPlace + (dropsSummary(isTailLonger: isTailLonger) ? [.dropSummary] : []) + [.raiseEnd])
    }

    /// How it goes on once all that was there at the beginning is flushed in place.
    package enum CheckpointContinuation: Equatable {
        /// Another thread has checkpointed the file since, or it was truncated: the next checkpoint takes it.
        case leave
        /// The file is written to all the time. What still has to be flushed is little.
        case alone
        case place
    }

    /// - Parameters:
    ///   - mark: taken at the beginning.
    ///   - sequence: of the file's last record then.
    ///
    /// Keeps: no record that was appended meanwhile dies by a header that lacks it.
    package func continuation(since mark: FlushMark, _ sequence: UInt64) -> CheckpointContinuation {
        guard isCovered(by: mark) else { return .leave }
        return journal.sequence == sequence ? .place : .alone
    }

    /// What ends a checkpoint after its header was flushed. If records were appended during that flush, the durable end
    /// stays: if blocks below it were written in place now, replay would put the journal's versions over them. The next
    /// checkpoint lowers it.
    package var stepsToFinishCheckpoint: [WriteStep] {
        journal.hasRecords ? [.releaseRecords] : [.releaseRecords] + stepsBehindHeader
    }

    /// What ends a checkpoint whose header needs no flush, because the one before it tells the same of all that counts.
    package var stepsWithoutFlush: [WriteStep] { [.lowerEnd, .unlist] }

    /// Whether the header of a checkpoint must be flushed before the checkpoint is done.
    package func needsSecondFlush(isTailLonger: Bool) -> Bool { journal.hasRecords || isTailLonger }
}

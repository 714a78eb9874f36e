import Format
import Posix
import Store

// While records come faster than checkpoints free a part, the journal has more parts. The head says so durably before
// the first of them is written, and stops saying so before they go.

extension Journal {
    /// The part of the store's free space that a journal may take when it grows: one byte in so many.
    private static let share: UInt64 = 16

    /// Adds a part that is written next, if the next one is in use and the store has space to spare; returns whether it
    /// has.
    func grow() throws(Errno) -> Bool {
        // Another thread has reserved room in it.
        if state.withLock({ $0.isNextFree }) { return false }
        return try flushing.withLock { _ throws(Errno) in
            let (isFree, count, head) = state.withLock { ($0.isNextFree, $0.parts.count, $0.head) }
            // An attempt to shrink that failed has left parts of which the head may not say.
            let isHidden = count > head.parts
            guard !isFree, isHidden || (count < mostParts && allocate(part: count, head)) else {
                isConfined.store(!isFree, ordering: .relaxed)
                return false
            }
            isConfined.store(false, ordering: .relaxed)
            if head.parts < mostParts {
                var grown = head
                grown.parts = mostParts
                do throws(Errno) { try write(grown) } catch {
                    // Hidden parts are free already: no checkpoint would help.
                    guard !isHidden, error == .ENOSPC || error == .EDQUOT else { throw error }
                    isConfined.store(true, ordering: .relaxed)
                    return false
                }
                state.withLock { $0.head.parts = mostParts }
            }
            if !isHidden { state.withLock { $0.parts.append(Part()) } }
            return true
        }
    }

    private func allocate(part: Int, _ head: JournalHead) -> Bool {
        let (start, end) = (head.offset(ofPart: part), head.offset(ofPart: part + 1))
        guard let statistics = try? store.statistics(),
            statistics.availableBlocks / Self.share >= end / max(1, statistics.fragmentSize)
        else { return false }
        do {
            try store.allocate(file, mode: 0, offset: Int64(start), length: Int64(end - start))
            return true
        } catch { return error == .EOPNOTSUPP || error == .ENOSYS }
    }

    var isGrown: Bool { state.withLock { $0.parts.count > JournalHead.fewestParts } }

    /// Makes a grown journal small again, if nothing in it is needed: a program that copies the vault meanwhile has
    /// less to copy.
    func shrink() throws(Errno) {
        try flushing.withLock { _ throws(Errno) in
            let head: JournalHead? = state.withLock { state in
                guard state.parts.count > JournalHead.fewestParts, state.isUnused, state.unanswered == 0,
                    tombstones.load(ordering: .relaxed) == 0
                else { return nil }
                state.head.nextEpoch = state.nextEpoch
                state.head.parts = JournalHead.fewestParts
                // Whether the new head reaches the disk or not, the next record begins an epoch that counts.
                state.position = state.head.partSize
                return state.head
            }
            guard let head else { return }
            try write(head)
            let isSmall = state.withLock { state in
                guard state.isUnused, state.nextEpoch == head.nextEpoch else { return false }
                state.parts = state.parts[..<JournalHead.fewestParts].map { Part(filled: $0.filled) }
                state.aliases = [:]
                (state.active, state.position, state.isSealed) = (0, 0, false)
                return true
            }
            guard isSmall else { return }
            // An error does no harm: what stays behind the last part has no epoch that counts, and goes at the end of
            // the session.
            try? store.truncate(file, to: Int64(head.offset(ofPart: JournalHead.fewestParts)))
        }
    }
}

extension Journal.State {
    /// Whether no file needs a record, and no thread is about to append one.
    fileprivate var isUnused: Bool { reserved == 0 && failure == nil && parts.allSatisfy(\.users.isEmpty) }
}

import Format
import Freshness

// Each session raises the journal's next epoch when it begins and when it ends, so the journal shows which session was
// the last one.

extension Vault {
    /// Compares the journal with what this machine has seen, and returns the next epoch of the session that begins.
    ///
    /// - Parameter found: the next epoch that the journal had; nil if there was none.
    func meetJournal(_ found: UInt64?, raising next: UInt64) -> UInt64 {
        guard let freshness, let known = freshness.marks[.journal], known.generation < JournalHead.largestNumber / 2
        else { return next + 1 }
        // A copy without the journal is no older one, if the last session on this machine ended cleanly.
        if found ?? 0 < known.generation { freshness.foundOlderJournal(isMissed: known.isOfOpenSession) }
        return max(next, known.generation) + 1
    }

    /// A session has begun or ended: the journal's head tells so durably.
    func noteJournal(_ nextEpoch: UInt64, isOpen: Bool) {
        guard let freshness, freshness.remembers else { return }
        let mark = Mark(
            generation: nextEpoch, blocks: isOpen ? 1 : 0, digest: 0, time: Marks.now, protectionClass: .none)
        freshness.marks.note(mark, of: .journal, isOwn: true)
    }
}

extension Mark {
    fileprivate var isOfOpenSession: Bool { blocks == 1 }
}

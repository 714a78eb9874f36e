public import Format
public import Freshness
import Posix
import Synchronization

/// What a vault compares its files with, and what it has found to be older. Thread-safe; docs/FRESHNESS.md.
public final class FreshnessWatch: Sendable {
    /// What happens to a file that is older than what this machine has seen.
    public enum Answer: Sendable {
        /// It opens, and the owner is told.
        case warn
        /// It does not open.
        case refuse
    }

    public let marks: Marks
    public let answer: Answer
    /// Whether what is found and written is remembered, too.
    let remembers: Bool

    private static let mostTold = 1 << 16
    private static let mostNews = 256

    private struct State {
        var told: Set<MarkKey> = []
        /// When the first of those was found, after there were none.
        var found: Timespec?
        /// When the first of those was seen that are newer than what was found, in seconds since 1970.
        var firstMissed = UInt32.max
        var news: [StaleObject] = []
        /// The files of which a block was found to be older.
        var blocks: [MarkKey: StaleObject] = [:]
        /// How many were found that are not in `news`.
        var more = 0
        var moment: Int64?
        var journal = FoundJournal.seen
    }

    /// What the journal is like at the beginning of the session.
    public enum FoundJournal: Sendable {
        case seen
        /// It is older than what this machine has seen, or gone; all that was in it had been put into place by then.
        case older
        /// It is older, or gone, and with it what the last session wrote before it was cut off.
        case missed
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())

    public init(_ marks: Marks, _ answer: Answer, remembers: Bool) {
        self.marks = marks
        self.answer = answer
        self.remembers = remembers
    }

    /// Notes that a file was found; each is told once.
    func tell(_ stale: StaleObject) {
        state.withLock { state in
            let isKnown = state.told.contains(stale.key)
            if case .block = stale.kind {
                guard state.blocks[stale.key] == nil, state.blocks.count < Self.mostTold else { return }
                state.blocks[stale.key] = stale
            } else {
                guard !isKnown else { return }
            }
            guard isKnown || state.told.count < Self.mostTold else { return }
            state.told.insert(stale.key)
            if !isKnown, state.told.count == 1 { state.found = .now }
            if state.news.count < Self.mostNews { state.news.append(stale) } else { state.more += 1 }
            state.firstMissed = min(state.firstMissed, stale.remembered.time)
        }
    }

    func accepted(_ key: MarkKey) {
        state.withLock { state in
            state.told.remove(key)
            state.blocks[key] = nil
        }
    }

    /// The older block that was found of a file.
    func foundBlock(_ key: MarkKey) -> StaleObject? { state.withLock { $0.blocks[key] } }

    /// Whether a file counts among those that were found.
    public func counts(_ key: MarkKey) -> Bool { state.withLock { $0.told.contains(key) } }

    /// How many files were found, up to 65,536.
    public var count: Int { state.withLock { $0.told.count } }

    /// When the first of them was found, after there were none; nil if there are none.
    public var found: Timespec? { state.withLock { $0.told.isEmpty ? nil : $0.found } }

    /// What was found since the last call; of very many, only some.
    ///
    /// - Returns: those, and how many more there were.
    public func takeNews() -> (objects: [StaleObject], more: Int) {
        state.withLock { state in
            defer { (state.news, state.more) = ([], 0) }
            return (state.news, state.more)
        }
    }

    /// The moment as whose copy the whole vault looks, in seconds since 1970; nil if it does not look like a copy.
    public var moment: Int64? { state.withLock { $0.moment } }

    /// Some files were looked at. If all that is missed was seen after the newest of their headers was written, the
    /// vault looks like a copy of then.
    ///
    /// - Parameter newest: when that header was written.
    func concludeCopy(newest: Int64) {
        state.withLock { state in
            // Without a file there is no moment.
            guard newest > .min else { return }
            if !state.told.isEmpty, Int64(state.firstMissed) >= newest { state.moment = newest }
        }
    }

    public var journal: FoundJournal { state.withLock { $0.journal } }

    func foundOlderJournal(isMissed: Bool) { state.withLock { $0.journal = isMissed ? .missed : .older } }

    /// Forgets all that is remembered: what is in the vault now is as it should be.
    public func acceptAll() throws(Errno) {
        try marks.forgetAll()
        state.withLock { $0 = State() }
    }
}

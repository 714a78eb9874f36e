import Format
import Freshness
import Posix
import Synchronization
import Vault

/// What this machine remembers of the files of a vault, while they are compared with it. Thread-safe.
final class RememberedFiles: Sendable {
    private struct State {
        /// What was not found yet.
        var left: MarkTable
        var older = 0
    }

    private let state: Mutex<State>

    init(_ table: MarkTable) { state = Mutex(State(left: table)) }

    /// The file with this header was found under a name. Returns what is remembered; nil if nothing is.
    func compare(_ header: FileHeader, at binding: NameBinding) -> (mark: Mark, verdict: Verdict)? {
        let key = MarkKey(header.file, at: binding)
        return state.withLock { state in
            guard let mark = state.left[key] else { return nil }
            state.left.remove(key)
            let verdict = mark.verdict(on: Mark(header, time: mark.time))
            if !verdict.isFresh { state.older += 1 }
            return (mark, verdict)
        }
    }

    /// Something else was found to be older.
    func count() { state.withLock { $0.older += 1 } }

    /// How many files and other things were older.
    var older: Int { state.withLock { $0.older } }

    /// What was not found: how many names, and when the last of them was seen, in seconds since 1970.
    var missing: (count: Int, last: UInt32) {
        state.withLock { state in
            var (count, last) = (0, UInt32(0))
            state.left.forEach { key, mark in
                guard !mark.isGone, mark.kind == .file, key != .journal else { return }
                count += 1
                last = max(last, mark.time)
            }
            return (count, last)
        }
    }
}

extension Check {
    /// Compares a file with what this machine remembers of it. True if it is the version that was seen.
    func compare(_ header: FileHeader, at binding: NameBinding, _ spot: Spot) -> Bool {
        guard let (mark, verdict) = remembered?.compare(header, at: binding) else { return false }
        guard !verdict.isFresh else { return mark.generation == header.generation }
        let seen = Timespec(seconds: Int64(mark.time), nanoseconds: 0).date
        let written = Timespec(seconds: header.written.seconds, nanoseconds: 0).date
        let reason: Printable =
            switch verdict {
            case .back: "it was removed or renamed \(seen), and is back in the version of \(written)"
            case .conflict:
                "this version was written \(written), and this machine saw another one of the same age \(seen)"
            default: "this version was written \(written), and this machine saw a newer one \(seen)"
            }
        report(Finding(.note, .older, at: spot, reason: reason))
        return false
    }

    /// Reports a folder, a link or an attribute that is older than what this machine has seen.
    func report(_ stale: StaleObject?, _ spot: Spot) {
        guard let stale else { return }
        remembered?.count()
        let seen = Timespec(seconds: Int64(stale.remembered.time), nanoseconds: 0).date
        report(Finding(.note, .older, at: spot, reason: "\(stale.reason), as this machine saw \(seen)"))
    }

    /// Reports the names that this machine remembers and the check has not found.
    func reportMissing() {
        guard let remembered, !isCancelled, progress.damaged == 0, progress.notes == remembered.older,
            !isPartly.load(ordering: .relaxed)
        else { return }
        let (count, last) = remembered.missing
        guard count > 0 else { return }
        let files = count == 1 ? "a file is" : "\(count) files are"
        let time = Timespec(seconds: Int64(last), nanoseconds: 0).date
        report(
            Finding(
                .note, .missing, ".",
                reason: """
                    \(files) missing that this machine has seen, last \(time), and whose removal it does not remember
                    """))
    }
}

import Control
import Posix
import Synchronization

/// What a person is told of.
enum Notice {
    case done([LockOutcome])
    /// These mounts were not locked when the machine fell asleep.
    case notLockedBeforeSleep([LockOutcome])
    /// A mount has found files that are older than this machine has seen.
    case older(Freshness, mountPoint: Path)

    struct Text: Hashable {
        let summary: Printable
        let body: Printable
        /// Whether "Lock now" is offered.
        let offersLock: Bool
        /// Whether it is shown until a person closes it, beside later ones.
        var stays = false
    }

    /// Nil if there is nothing to tell.
    func text(_ users: (Path, Bool) -> [Printable], namesFiles: Bool) -> Text? {
        switch self {
        case .done(let outcomes):
            let failed = outcomes.filter(\.isFailed)
            if !failed.isEmpty {
                return Text(summary: "Not locked", body: failed.map(\.line).joined(separator: "\n"), offersLock: true)
            }
            let locking = outcomes.compactMap { outcome -> (LockOutcome, Double)? in
                switch outcome.result {
                case .locking(let seconds), .held(let seconds, _): (outcome, seconds)
                default: nil
                }
            }
            if let longest = locking.map(\.1).max() {
                let lines = locking.flatMap { [$0.0.line] + users($0.0.mountPoint, namesFiles) }
                let isHeld = locking.contains { if case .held = $0.0.result { true } else { false } }
                // The grace period and the longest hold, which are an hour and a day at most.
                let seconds = Int(min(max(longest, 0), 90_000).rounded(.up))
                return Text(
                    summary: "Locking in \(isHeld ? "at most " : "")\(seconds) seconds",
                    body: lines.joined(separator: "\n"),
                    offersLock: true)
            }
            let goingOn = outcomes.filter(\.isNotTakenBack)
            if !goingOn.isEmpty {
                return Text(
                    summary: "The lock could not be taken back", body: goingOn.map(\.line).joined(separator: "\n"),
                    offersLock: false)
            }
            let locked = outcomes.filter { $0.result == .locked }
            if !locked.isEmpty {
                return Text(
                    summary: "Locked", body: locked.map(\.line).joined(separator: "\n"),
                    offersLock: false)
            }
            return nil
        case .notLockedBeforeSleep(let outcomes):
            guard !outcomes.isEmpty else { return nil }
            return Text(
                summary: "Not locked before sleep", body: outcomes.map(\.line).joined(separator: "\n"), offersLock: true
            )
        case .older(let freshness, let point):
            let files: Printable = freshness.older == 1 ? "1 file is" : "\(freshness.older) files are"
            let accept: Printable = freshness.moment == nil ? "accept FILE..." : "accept --all \(point.quoted)"
            return Text(
                summary: freshness.isStrict ? "Older files are refused" : "Older files",
                body: """
                    \(point): \(files) older than this machine has seen.
                    To see which, type: latchkey status \(point.quoted)
                    If you have restored \(freshness.moment == nil ? "them" : "the vault"), type: latchkey \(accept)
                    """,
                offersLock: false, stays: true)
        }
    }
}

/// Notices on their way to the session bus.
///
/// Thread-safe.
final class NoticeQueue: Sendable {
    /// Beyond it the oldest go: where no session bus is, none is ever shown.
    private static let most = 20
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let waiting = Mutex<[Notice.Text]>([])
    let wakeup: Wakeup

    init() throws(Errno) { wakeup = try Wakeup() }

    func add(_ notice: Notice.Text) {
        waiting.withLock { waiting in
            waiting.append(notice)
            if waiting.count > Self.most { waiting.removeFirst() }
        }
        wakeup.signal()
    }

    /// All that wait. The wakeup is cleared.
    func take() -> [Notice.Text] {
        wakeup.clear()
        return waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}

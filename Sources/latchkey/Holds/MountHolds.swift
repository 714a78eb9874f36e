import Control
import Failure
import Glibc
import Posix

/// Holds of the locks of several mounts. They last until the process ends.
struct MountHolds {
    enum Choice {
        /// All of this user's mounts that are unlocked now.
        case unlocked
        case named([ServedMount])
    }

    private let mounts: [ServedMount]

    /// Holds those that are named, or throws; of the unlocked ones as many as can be held, but one at least.
    ///
    /// - Parameter command: what the caller runs.
    static func begin(
        _ choice: Choice, seconds: Int, command: String, because: String?
    ) throws(CommandError) -> MountHolds {
        let wanted: [ServedMount]
        let mayBeLocked: Bool
        switch choice {
        case .named(let mounts): (wanted, mayBeLocked) = (mounts, false)
        case .unlocked:
            let own = SocketDirectories.reachable.mounts().filter { $0.owner == geteuid() }
            (wanted, mayBeLocked) = (own.sorted { $0.status.mountPoint < $1.status.mountPoint }, true)
        }
        var held: [ServedMount] = []
        var refusals: [(Path, CommandError)] = []
        for mount in wanted {
            let point = mount.status.mountPoint
            do throws(Failure) {
                let granted = try mount.client.hold(seconds: Double(seconds), command: command, because: because)
                held.append(mount)
                guard granted < Double(seconds) else { continue }
                Standard.error("latchkey: \(point): the policy allows a hold of \(Clock.seconds(granted))")
            } catch .mountLocked {
                if mayBeLocked { continue }
                if mount.status.ending == true {
                    throw CommandError(
                        .locked,
                        "\(point) is unmounted, and ends when no program uses its files: nothing can hold its keys")
                }
                throw CommandError(
                    .locked, "\(point) is not unlocked, so nothing can hold its keys",
                    try: "latchkey unlock \(point.quoted)")
            } catch {
                let refusal = CommandError(error, at: point)
                guard mayBeLocked else { throw refusal }
                refusals.append((point, refusal))
            }
        }
        guard let first = wanted.first else {
            throw CommandError(.notFound, "no vault is mounted", try: "latchkey list", "latchkey mount VAULT DIR")
        }
        // A mount that cannot be held, as its policy forbids it, keeps no other from it.
        if held.isEmpty, let (_, refusal) = refusals.first { throw refusal }
        for (point, refusal) in refusals {
            Standard.error("latchkey: the lock of \(point) is not held: \(refusal.message)")
        }
        guard !held.isEmpty else {
            throw CommandError(
                .locked, "none of your mounts is unlocked, so nothing can hold their keys",
                try: "latchkey unlock \(first.status.mountPoint.quoted)")
        }
        return MountHolds(mounts: held)
    }

    /// Calls `ended` with the mount point and the reason when a hold ends, on a thread of its own.
    func watch(_ ended: @escaping @Sendable (Path, Printable) -> Void) {
        for mount in mounts {
            let wait: @Sendable () -> Void = {
                let why: Printable
                do throws(Failure) { why = try mount.client.endOfHold().text } catch {
                    why = "its daemon has ended"
                }
                ended(mount.status.mountPoint, why)
            }
            // Without a thread the end is not told; the hold is there all the same.
            do throws(Errno) { try startThread(wait) } catch {
                Standard.error("latchkey: cannot watch the hold of \(mount.status.mountPoint): \(error)")
            }
        }
    }
}

extension HoldEnd {
    fileprivate var text: Printable {
        switch self {
        case .locked: "the hold has ended, because it was locked at once"
        case .timeOver: "the hold has ended, because its time is over"
        case .detached: "the hold has ended, because it was unmounted"
        }
    }
}

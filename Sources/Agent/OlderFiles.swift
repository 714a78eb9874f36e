import Control
import Failure
import Glibc
import Posix
import Synchronization

/// Follows the mounts of a user, and tells once of each that it has found files that are older than this machine has
/// seen: docs/FRESHNESS.md.
///
/// A thread waits for changes of the kernel's table of mounts, and one for each mount for what its daemon has to say.
/// None of them carries out locks, so a daemon that does not answer delays none. Thread-safe.
final class OlderFiles: Sendable {
    private struct State {
        /// The mounts that a thread follows, by `st_dev`: whether it is to look again before it ends.
        var followed: [UInt64: Bool] = [:]
        /// What was told last of each.
        var told: [UInt64: Finding] = [:]
    }

    /// What is told once: a daemon has found files, after there were none.
    private struct Finding: Hashable {
        let instance: String?
        let found: Double?
    }

    /// A daemon listens a moment after its mount is in the table. One that does not answer so often is tried again when
    /// the table has changed, or an event was carried out.
    private static let mostTries = 8
    /// In microseconds, before the second try; before each later one twice as long.
    private static let firstPause: UInt32 = 50_000

    private let user: UInt32
    private let table: @Sendable () -> [TableMount]
    private let looks: Wakeup
    /// The kernel's table of mounts, which is readable as "changed": opened before the first look, so that each later
    /// change wakes the thread. Source: proc_pid_mounts(5).
    private let changes: Descriptor
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())

    /// - Parameters:
    ///   - user: whose mounts are followed; the process's own.
    ///   - table: the mounts that the kernel knows.
    init(of user: UInt32, _ table: @escaping @Sendable () -> [TableMount]) throws(Errno) {
        (self.user, self.table) = (user, table)
        looks = try Wakeup()
        changes = try Descriptor.open(path: "/proc/self/mountinfo", O_RDONLY)
    }

    /// Looks again for mounts that are not followed. Returns at once.
    func look() { looks.signal() }

    /// Never returns.
    ///
    /// - Parameter tell: called by threads of its own.
    func run(_ tell: @escaping @Sendable (Notice) -> Void) {
        while true {
            looks.clear()
            for mount in table() where mount.user == user { follow(mount.device, tell) }
            // Poll fails for want of memory alone. Then the next look comes a moment later.
            do throws(Errno) { _ = try Poll.readable([looks.readable], changing: [changes]) } catch { sleep(1) }
        }
    }

    private func follow(_ device: UInt64, _ tell: @escaping @Sendable (Notice) -> Void) {
        let isNew = state.withLock { state in
            defer { state.followed[device] = state.followed[device] != nil }
            return state.followed[device] == nil
        }
        guard isNew else { return }
        do throws(Errno) {
            try startThread { [self] in
                repeat { listen(device, tell) } while !mayEnd(device)
            }
        } catch { state.withLock { $0.followed[device] = nil } }
    }

    /// Whether the thread that follows a mount ends: not if the mount may be another one by now.
    private func mayEnd(_ device: UInt64) -> Bool {
        state.withLock { state in
            guard state.followed[device] == true else {
                state.followed[device] = nil
                return true
            }
            state.followed[device] = false
            return false
        }
    }

    /// Returns when the mount has gone, or its daemon does not answer.
    private func listen(_ device: UInt64, _ tell: (Notice) -> Void) {
        var tries = 0
        while tries < Self.mostTries, table().contains(where: { $0.device == device && $0.user == user }) {
            let begin = BootClock.now
            // The daemon ends a connection at its end, and if this process was stopped for long. One that does not
            // answer is tried again.
            try? SocketDirectories.reachable.mount(device: device, of: user)?.client.monitor { change in
                heard(change.status, device, tell)
                return true
            }
            // A daemon that answers once, and ends each connection, is not asked for ever.
            if BootClock.now - begin > .seconds(10) { tries = 0 }
            _ = usleep(Self.firstPause << UInt32(tries))
            tries += 1
        }
    }

    private func heard(_ status: Status, _ device: UInt64, _ tell: (Notice) -> Void) {
        guard let freshness = status.freshness, freshness.older > 0 else { return }
        let finding = Finding(instance: status.instance, found: freshness.found)
        let isNew = state.withLock { state in
            defer { state.told[device] = finding }
            return state.told[device] != finding
        }
        if isNew { tell(.older(freshness, mountPoint: status.mountPoint)) }
    }
}

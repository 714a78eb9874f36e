import Control
import Failure
import Glibc
import LockSources
import Posix
import Synchronization

/// Locks the mounts that an event means, all at once, over their control sockets.
///
/// Thread-safe.
final class MountLocker: Sendable {
    private let words: @Sendable (Failure) -> Printable
    private let graces = GraceTable()
    /// Connections to mounts on which no request may wait until the machine has woken up. A leaf: no other lock is
    /// taken under it. Lock order: docs/ARCHITECTURE.md.
    private let interrupted = Mutex<[ControlClient]>([])

    /// How long a sleep or a shutdown waits for the locks: logind gives 5 seconds (InhibitDelayMaxSec=).
    private static let patienceAtOnce = Duration.seconds(3.5)
    /// How long other events wait, before they report.
    private static let patience = Duration.seconds(15)
    /// How long another agent has for what this one does too.
    private static let patienceForOthers = Duration.seconds(1)
    /// Seconds after which a thread gives a daemon up that does not answer: another user may have any number of them.
    private static let longest = 20.0

    init(_ words: @escaping @Sendable (Failure) -> Printable) { self.words = words }

    /// - Parameters:
    ///   - table: the mounts that the kernel knows.
    ///   - means: whether the event means a mount.
    /// - Returns: what was done; a daemon that has not answered in time counts as failed, and its lock goes on.
    func handle(
        _ event: SourceEvent, _ settings: AgentSettings, _ table: () -> [TableMount],
        means: @escaping @Sendable (ServedMount) -> Bool
    ) -> [LockOutcome] {
        let begins = event.phase == .began
        if event.source == .sleep, begins { woke() }
        // Of all users some may have any number of daemons that do not answer: an end waits for its beginning.
        let patience = event.source.isImmediate || event.user == nil ? Self.patienceAtOnce : Self.patience
        let results = visit(event.user, within: patience) { [self] mount in
            // What a source has begun it may end, also if it was switched off meanwhile.
            if event.phase == .ended { return end(mount, event) }
            guard settings.isOn(event.source, forVault: mount.status.vault), means(mount) else { return nil }
            if event.source == .sleep, begins { interruptWaiting(mount) }
            return begin(mount, event, deep: event.source == .sleep && settings.locksDeepAtSleep)
        } after: { [self] mount in
            if event.source.isImmediate { makeDurable(mount) }
        }
        guard begins else { return results.all }
        let known = table().filter { isMeant($0, event.user) && settings.isOn(event.source, forVault: $0.vault) }
        return results.all(and: known)
    }

    private func isMeant(_ mount: TableMount, _ user: UInt32?) -> Bool { user == nil || mount.user == user }

    /// The machine has woken up: requests may wait again.
    func woke() { interrupted.withLock { $0 = [] } }

    /// A program that waits for an unlock cannot be stopped for the sleep. The lock goes on if this fails, as with an
    /// older daemon, which does not know the call.
    private func interruptWaiting(_ mount: ServedMount) {
        guard mount.status.whenLocked == .freeze, (try? mount.client.interruptWaiting()) != nil else { return }
        interrupted.withLock { $0.append(mount.client) }
    }

    /// Locks without a grace period, and waits for the end.
    func lockNow(of user: UInt32?, _ table: () -> [TableMount]) -> [LockOutcome] {
        visit(user, within: Self.patience) { [self] mount in
            lockNow(mount, deep: false)
        } after: { _ in
        }
        .all(and: table().filter { isMeant($0, user) })
    }

    /// - Parameters:
    ///   - user: whose mounts; nil for those of all users.
    ///   - body: nil if nothing was to be done.
    ///   - after: done when the result is known, in the same time.
    private func visit(
        _ user: UInt32?, within patience: Duration, _ body: @escaping @Sendable (ServedMount) -> LockOutcome.Result?,
        after: @escaping @Sendable (ServedMount) -> Void
    ) -> Results {
        let results = Results()
        let work: @Sendable (ServedMount) -> Void = { mount in
            let number = results.begin(mount)
            results.end(number, body(mount))
            after(mount)
        }
        let folders = SocketDirectories.reachable.owned(by: user)
        do throws(Errno) { _ = try folders.visit(work).wait(within: patience) } catch {
            for mount in folders.mounts() { work(mount) }
        }
        return results
    }

    /// Asks for the lock also where nothing is open: an unlock that is under way fails then.
    private func begin(_ mount: ServedMount, _ event: SourceEvent, deep: Bool) -> LockOutcome.Result {
        if event.source.isImmediate { return lockNow(mount, deep: deep) }
        do throws(Failure) {
            let status = try lock(mount, for: event)
            switch (mount.status.state, status.state) {
            case (.locking, .locking), (.locked, .locked), (.beforeFirstUnlock, .beforeFirstUnlock),
                (.locking, .locked), (.locking, .beforeFirstUnlock):
                return .wasLocked
            case (_, .locking):
                let left = status.graceRemaining ?? 0
                return status.holders.map { .held(left, by: $0) } ?? .locking(left)
            case (_, .locked), (_, .beforeFirstUnlock): return .locked
            case (_, .unlocked): return .failed("it is unlocked")
            }
        } catch { return .failed(words(error)) }
    }

    private func lock(_ mount: ServedMount, for event: SourceEvent) throws(Failure) -> Status {
        var client = graces.join(event, mount)
        var status: Status
        do throws(Failure) { status = try client.lock(within: Self.longest) } catch {
            graces.forget(mount, client)
            // The connection of an earlier source may have ended.
            guard client !== mount.client else { throw error }
            client = graces.join(event, mount)
            do throws(Failure) { status = try client.lock(within: Self.longest) } catch {
                graces.forget(mount, client)
                throw error
            }
        }
        if status.state == .locking {
            // As long as a program may hold the lock: until then the source's end is told that it comes too late.
            graces.began(mount, client, seconds: (status.graceRemaining ?? 0) + (status.longestHold ?? 0))
        } else {
            graces.forget(mount, client)
        }
        return status
    }

    private func lockNow(_ mount: ServedMount, deep: Bool) -> LockOutcome.Result {
        graces.forget(mount)
        let before = mount.status.state
        do throws(Failure) {
            let status = try mount.client.lock(now: true, wait: true, deep: deep, within: Self.longest)
            // A deep lock ends before the first unlock.
            let isLocked = status.state == .beforeFirstUnlock || (status.state == .locked && !deep)
            guard isLocked else { return .failed("it is \(status.state)") }
            return before == .beforeFirstUnlock || (before == .locked && !deep) ? .wasLocked : .locked
        } catch { return .failed(words(error)) }
    }

    private func end(_ mount: ServedMount, _ event: SourceEvent) -> LockOutcome.Result? {
        guard let client = graces.leave(event, mount), mount.status.state == .locking else { return nil }
        // Only an unlock ends it now. The connection may be closed.
        if let holder = mount.status.holderAfterGrace { return .notTakenBack(Self.isHeld(by: holder)) }
        do throws(Failure) {
            var status = try client.takeBackLock()
            // Another agent, which has heard the same, takes its own lock back.
            let end = ContinuousClock.now + Self.patienceForOthers
            while status.state == .locking, status.ownGraceRemaining ?? 0 > 0, ContinuousClock.now < end {
                _ = usleep(20_000)
                status = try client.status()
            }
            switch status.state {
            case .unlocked: return .takenBack
            case .locking where status.ownGraceRemaining ?? 0 > 0:
                return .notTakenBack("it is locked all the same, because something else has asked for it too")
            case .locking where status.holderAfterGrace != nil:
                return status.holderAfterGrace.map { .notTakenBack(Self.isHeld(by: $0)) }
            // The time was over.
            case .locking, .locked, .beforeFirstUnlock: return nil
            }
        } catch { return .notTakenBack(words(error)) }
    }

    private static func isHeld(by holder: Printable) -> Printable {
        "its grace period is over: it is locked when \(holder) ends, unless a person unlocks it"
    }

    /// A machine that loses its power while it sleeps loses nothing.
    private func makeDurable(_ mount: ServedMount) {
        for path in [mount.status.mountPoint, mount.status.vault] {
            // What cannot be flushed stays in the kernel's memory, as without this.
            try? Descriptor.open(path: path, O_RDONLY | O_DIRECTORY).synchronizeFileSystem()
        }
    }
}

extension Status {
    /// The programs that hold the lock, in a few words; nil if there are none. What they run is what they say.
    fileprivate var holders: Printable? {
        guard let holds, let first = holds.first else { return nil }
        let said = first.command.flatMap { $0.isEmpty ? nil : Printable($0) }
        let name = said ?? "process \(first.pid)"
        return holds.count == 1 ? name : "\(name) and \(holds.count - 1) more"
    }

    /// The same if the grace period is over, and the lock waits for them alone.
    fileprivate var holderAfterGrace: Printable? {
        guard state == .locking, let left = ownGraceRemaining, left <= 0 else { return nil }
        return holders
    }
}

/// The outcomes of one event, which may come from several threads, and late.
private final class Results: Sendable {
    private struct Entry {
        let mount: Status
        let owner: UInt32
        /// Nil while the daemon has not done what was asked.
        var result: LockOutcome.Result?
        var isNothing = false
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex<[Entry]>([])

    /// - Returns: the number of the mount.
    func begin(_ mount: ServedMount) -> Int {
        state.withLock { entries in
            entries.append(Entry(mount: mount.status, owner: mount.owner))
            return entries.count - 1
        }
    }

    /// - Parameter result: nil if nothing was to be done.
    func end(_ number: Int, _ result: LockOutcome.Result?) {
        state.withLock { entries in
            entries[number].result = result
            entries[number].isNothing = result == nil
        }
    }

    var all: [LockOutcome] { all(and: []) }

    /// - Parameter table: mounts that were to be locked. Those whose daemons have not answered count as failed.
    func all(and table: [TableMount]) -> [LockOutcome] {
        let entries = state.withLock { $0 }
        // Only a daemon of the mount's own user can answer for it.
        let silent = table.filter { mount in
            !entries.contains { $0.mount.device == mount.device && (mount.user == nil || mount.user == $0.owner) }
        }.map { LockOutcome(mountPoint: $0.mountPoint, result: .failed("its daemon does not answer")) }
        let others = entries.filter { !$0.isNothing }.map { entry in
            // Another user's daemon can name any path.
            let isOthers =
                entry.owner != geteuid()
                && !table.contains { $0.mountPoint == entry.mount.mountPoint && $0.user == entry.owner }
            return LockOutcome(
                mountPoint: isOthers ? Path("a mount of user \(entry.owner)") : entry.mount.mountPoint,
                result: entry.result ?? .failed("not done in time; it goes on"))
        }
        return (others + silent).sorted { $0.mountPoint < $1.mountPoint }
    }
}

import Control
import Failure
import Format
import Glibc
import Posix

/// Locks at a terminal: names the programs that lose files, counts down, and takes the lock back on Ctrl-C.
struct LockCountdown: ~Copyable {
    /// Whether a person sees the countdown, and Ctrl-C reaches this process.
    static var isPossible: Bool {
        isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp()
    }

    private let signals: SignalDescriptor
    private let screen = Screen()

    /// From here on, Ctrl-C waits for `run`.
    init() throws(CommandError) {
        do throws(Errno) { signals = try SignalDescriptor(blocking: [SIGINT]) } catch {
            throw CommandError(.failed, "cannot wait for signals: \(error)")
        }
    }

    /// Begins all locks, and returns the status of each mount when none is locking any more. A lock that is taken back
    /// ends the process.
    func run(_ mounts: [ServedMount], deep: Bool, _ failures: inout Failures) -> [Control.Status] {
        var ended: [Control.Status] = []
        var locking: [ServedMount] = []
        var deepLocks: Set<Path> = []
        var toldHolds: [Path: Printable] = [:]
        var isOurs = false
        for mount in mounts {
            do throws(Failure) {
                let status = try mount.client.lock(deep: deep)
                if status.deep == true { deepLocks.insert(status.mountPoint) }
                if status.state == .locking { locking.append(mount) } else { ended.append(status) }
                isOurs = isOurs || (mount.status.state == .unlocked && status.isInGrace)
            } catch { failures.add(CommandError(error, at: mount.status.mountPoint)) }
        }
        tellUsers(of: locking, deepLocks)
        var mayTakeBack = isOurs
        if !mayTakeBack { Interruption.allow(SIGINT) }
        while !locking.isEmpty {
            var still: [ServedMount] = []
            var isAllHeld = true
            for mount in locking {
                do throws(Failure) {
                    let status = try mount.client.status()
                    if status.state == .locking {
                        still.append(mount)
                        isAllHeld = isAllHeld && status.isHeldAfterGrace
                        tell(status, &toldHolds)
                        screen.show("\(text(status, mayTakeBack))")
                    } else {
                        ended.append(status)
                    }
                } catch {
                    screen.write { failures.add(CommandError(error, at: mount.status.mountPoint)) }
                }
            }
            locking = still
            if isAllHeld, !locking.isEmpty, mayTakeBack {
                // From here on Ctrl-C ends this command alone, as the countdown says.
                mayTakeBack = false
                Interruption.allow(SIGINT)
            }
            guard !locking.isEmpty, wasInterrupted(), mayTakeBack else { continue }
            takeBack(locking)
            // The next Ctrl-C ends this command; the lock goes on.
            mayTakeBack = false
            Interruption.allow(SIGINT)
        }
        screen.write {}
        return ended.sorted { $0.mountPoint < $1.mountPoint }
    }

    /// Waits a moment for Ctrl-C.
    private func wasInterrupted() -> Bool {
        guard let ready = try? Poll.readable([signals.descriptor], timeout: .milliseconds(200)) else { return false }
        return !ready.isEmpty && (try? signals.next()) != nil
    }

    /// Ends the process if all locks are taken back. Otherwise says which ones go on.
    private func takeBack(_ locking: [ServedMount]) {
        var standing: [Path] = []
        for mount in locking {
            let status = try? mount.client.takeBackLock()
            let point = mount.status.mountPoint
            if status?.state == .unlocked {
                screen.write { Standard.error("\(point) is unlocked: its lock is taken back.") }
            } else {
                standing.append(point)
            }
        }
        guard !standing.isEmpty else { Interruption.die(of: SIGINT) }
        screen.write {
            for point in standing {
                Standard.error(
                    "The lock of \(point) goes on: its time is over, or another lock was requested.\n"
                        + "  try: latchkey unlock \(point.quoted)")
            }
        }
    }

    /// Says for which programs the lock waits, on a line of its own, when they change: the progress is short.
    private func tell(_ status: Control.Status, _ told: inout [Path: Printable]) {
        let point = status.mountPoint
        guard let held = status.heldBy, held != told[point] else { return }
        told[point] = held
        screen.write { Standard.error("The lock of \(point) is \(held).") }
    }

    private func text(_ status: Control.Status, _ mayTakeBack: Bool) -> Printable {
        guard let left = status.graceRemaining, left > 0 else { return "the keys are being taken out" }
        let most: Printable = status.heldBy == nil ? "" : "at most "
        let key: Printable =
            status.isHeldAfterGrace
            ? "; Ctrl-C ends only the countdown"
            : mayTakeBack ? "; Ctrl-C takes the lock back" : ""
        return "the keys will be gone in \(most)\(Clock.seconds(left))\(key)"
    }

    /// - Parameter deep: where class C is closed as well.
    private func tellUsers(of mounts: [ServedMount], _ deep: Set<Path>) {
        // The lock has begun, so what cannot be looked at does not stop it.
        guard let scan = try? HolderScan(devices: Set(mounts.map(\.status.device))) else { return }
        for mount in mounts {
            guard let holders = try? Holders(of: mount, in: scan) else { continue }
            let isDeep = deep.contains(mount.status.mountPoint)
            let lines = LockedPrograms(holders, isDeep: isDeep, whenLocked: mount.status.whenLocked ?? .fail).lines
            guard !lines.isEmpty else { continue }
            let classes = isDeep ? "classes A and C" : "class A"
            Standard.error("These programs lose files of \(classes) when \(mount.status.mountPoint) locks:")
            for line in lines { Standard.error("  \(line)") }
        }
    }
}

extension Control.Status {
    /// Whether a lock is under way that can be taken back, by the connection that has requested it.
    fileprivate var isInGrace: Bool { state == .locking && ownGraceRemaining ?? 0 > 0 }

    /// Whether the lock waits for programs alone: then it needs an unlock to end.
    fileprivate var isHeldAfterGrace: Bool { state == .locking && heldBy != nil && !isInGrace }
}

/// What a lock does to the programs that use files of class A or, in a deep lock, C. Open files of B stay open, and C
/// and D stay readable.
struct LockedPrograms {
    let lines: [Printable]

    init(_ holders: Holders, isDeep: Bool = false, whenLocked: Control.Status.WhenLocked) {
        let lost = (isDeep ? [.complete, .completeUntilFirstUserAuthentication] : [ProtectionClass.complete]).map(
            \.name)
        let fate = whenLocked == .freeze ? "reads wait for the unlock" : "reads and writes fail until the unlock"
        lines = holders.holders.compactMap { holder in
            let opened = lost.reduce(0) { $0 + (holder.openFiles[$1] ?? 0) }
            let mapped = lost.reduce(0) { $0 + (holder.mappedFiles[$1] ?? 0) }
            guard opened + mapped > 0 else { return nil }
            let parts =
                (mapped > 0 ? ["\(Amount.of(mapped, "file")) mapped, its next access kills it (SIGBUS)"] : [])
                + (opened > 0 ? ["\(Amount.of(opened, "file")) open, \(fate)"] : [])
            return "\(holder.pid) (\(holder.name)): \(parts.joined(separator: "; "))"
        }
    }
}

import ArgumentParser
import Control
import Failure
import Glibc
import Posix

/// `latchkey lock`: evicts the class keys from the daemon's memory.
struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lock a mount: after the grace period, files of class A and closed files of B are ciphertext.",
        discussion: """
            Programs keep running. If a program holds the lock (latchkey hold), the keys stay until it ends, or its \
            time is over; with --now they go at once. Locking again does not move the end of the grace period. The \
            signal SIGUSR1 to the daemon does the same. With --wait, standard error shows the progress, and standard \
            output the end.

            At a terminal, without --now, the command first names the programs that lose files, and counts down. In \
            the grace period Ctrl-C takes back a lock that it has begun, and closing the terminal does not. If a \
            program holds the lock after it, Ctrl-C ends only the countdown. In the background, or in a script, it \
            returns at once.

            --deep takes the key of class C as well, and the mount is as before its first unlock. On a mount that is \
            locked already this happens at once, since programs had their grace period.

            --json writes what "latchkey status --json" writes, after the lock: an object for DIR, with --all a list. \
            It does not count down.
            """
                + Examples.of(
                    "latchkey lock ~/private", "latchkey lock --now --all", "latchkey lock --deep ~/private"))

    @Flag(help: "Lock at once, without the grace period.")
    var now = false

    @Flag(help: "Close class C as well: only files of class D can be read until the next unlock.")
    var deep = false

    @Flag(help: "Return only when the keys are gone, or an unlock has cancelled the lock.")
    var wait = false

    @Flag(help: "Lock every mount of this user; as root, of all users.")
    var all = false

    @Flag(help: "Write JSON.")
    var json = false

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault. \(onlyMount)", valueName: "dir"))
    var argument: Path?

    func validate() throws {
        if all, argument != nil { throw ValidationError("Name a mount, or give --all.") }
    }

    func run() throws {
        var ends: [Status] = []
        do { try run(&ends) } catch {
            try write(ends)
            throw error
        }
        try write(ends)
    }

    /// Writes the JSON, also before an error.
    private func write(_ ends: [Status]) throws {
        guard json else { return }
        let reports = ends.map { StatusReport($0) }
        if all { return Standard.output(try JSON.text(reports)) }
        if let report = reports.first { Standard.output(try JSON.text(report)) }
    }

    /// - Parameter ends: gets the status of each mount after its lock.
    private func run(_ ends: inout [Status]) throws {
        let isWatched = !now && !json && LockCountdown.isPossible
        if !all {
            let mount = try PathArgument.mount(ofOrOnly: argument)
            return isWatched ? try countDown([mount]).end(of: 1) : try lock(mount, &ends)
        }
        // First of all: daemons that do not answer take seconds.
        let first = SocketDirectories.reachable.mounts()
        var failures = Failures(advises: true)
        if isWatched { failures = try countDown(first) } else { begin(first) }
        let (served, silent) = try PathArgument.all()
        if served.isEmpty && silent.isEmpty && !json { Standard.output("No vault is mounted.") }
        let own = served.filter { $0.owner == geteuid() }
        for mount in own + served.filter({ $0.owner != geteuid() }) {
            if isWatched, first.contains(where: { $0.status.device == mount.status.device }) { continue }
            do { try lock(mount, &ends) } catch let error as CommandError { failures.add(error) }
        }
        for mount in silent { failures.add(mount.failure) }
        try failures.end(of: served.count + silent.count)
    }

    /// Begins the locks of all mounts at once: no daemon that does not answer keeps the others from it.
    private func begin(_ mounts: [ServedMount]) {
        for mount in mounts {
            let begin: @Sendable () -> Void = { [now, deep] in
                _ = try? mount.client.lock(now: now, deep: deep)
            }
            do throws(Errno) { try startThread(begin) } catch { begin() }
        }
    }

    /// Locks at a terminal, and returns when no mount is locking any more.
    private func countDown(_ mounts: [ServedMount]) throws(CommandError) -> Failures {
        let countdown = try LockCountdown()
        var failures = Failures(advises: true)
        for status in countdown.run(mounts, deep: deep, &failures) {
            report(status, at: status.mountPoint, waited: true)
            guard status.state == .unlocked else { continue }
            failures.add(cancelled(at: status.mountPoint))
        }
        return failures
    }

    private func lock(_ mount: ServedMount, _ ends: inout [Status]) throws {
        let point = mount.status.mountPoint
        let status: Status
        do {
            // Locks without waiting first: the wait shows the progress of this lock.
            let begun = try mount.client.lock(now: now, deep: deep)
            status = wait && begun.state == .locking ? try end(of: begun, at: mount) : begun
        } catch let error as Failure {
            throw CommandError(error, at: point)
        }
        ends.append(status)
        if !json { report(status, at: point, waited: wait) }
        if wait, status.state == .unlocked { throw cancelled(at: point) }
    }

    private func cancelled(at point: Path) -> CommandError {
        CommandError(
            .failed, "an unlock has cancelled the lock",
            try: deep ? "latchkey lock --now --deep \(point.quoted)" : "latchkey lock --now \(point.quoted)")
    }

    /// The status when the mount is not locking any more: locked, or unlocked again.
    private func end(of lock: Status, at mount: ServedMount) throws -> Status {
        // Over a second connection, since the first one waits.
        let progress = try PathArgument.mount(again: lock).map { other throws(Errno) in
            try LockProgress(of: other)
        }
        defer { progress?.end() }
        var end = lock
        do throws(Failure) {
            try mount.client.monitor(after: StatusChange(nil, lock).position) { change in
                end = change.status
                return end.state == .locking
            }
        } catch {
            // The daemon does not accept another monitoring client, so the status is polled.
            while end.state == .locking {
                usleep(50_000)
                guard let again = PathArgument.mount(again: lock) else { throw error }
                end = again.status
            }
        }
        return end
    }

    private func report(_ status: Status, at point: Path, waited: Bool) {
        let took = waited ? status.lastLockDuration.map { ", \(Clock.precisely($0)) after the deadline" } ?? "" : ""
        switch status.state {
        case .locked:
            Standard.output("\(point) is locked: the keys are gone\(took).")
        case .beforeFirstUnlock where status.deep == true:
            Standard.output("\(point) is locked deeply: the keys of A, B and C are gone\(took).")
        case .locking:
            guard let left = status.graceRemaining, left > 0 else {
                Standard.output("\(point) is locking: the keys are being taken out.")
                return
            }
            let clock = status.deadline.flatMap { Clock.time($0) }.map { ", at \($0)" } ?? ""
            if let held = status.heldBy {
                Standard.output(
                    "\(point) is locking, \(held): the keys will be gone in at most \(Clock.seconds(left))\(clock).")
                return
            }
            Standard.output("\(point) is locking: the keys will be gone in \(Clock.seconds(left))\(clock).")
        case .beforeFirstUnlock:
            Standard.output("\(point) has not been unlocked yet: there are no keys to take out.")
        case .unlocked:
            break
        }
    }
}

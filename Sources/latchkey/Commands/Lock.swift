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
            Programs keep running. Locking again does not move the end of the grace period. The signal SIGUSR1 to the \
            daemon does the same. With --wait, standard error shows the progress, and standard output the end.
            """)

    @Flag(help: "Lock at once, without the grace period.")
    var now = false

    @Flag(help: "Return only when the keys are gone, or an unlock has cancelled the lock.")
    var wait = false

    @Flag(help: "Lock every mount of this user; as root, of all users.")
    var all = false

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault.", valueName: "dir"))
    var argument: String?

    func validate() throws {
        guard all == (argument == nil) else { throw ValidationError("Name a mount, or give --all.") }
    }

    func run() throws {
        if let argument { return try lock(PathArgument.mount(of: argument)) }
        let (served, silent) = try PathArgument.all()
        if served.isEmpty && silent.isEmpty { Standard.output("No vault is mounted.") }
        var failures = Failures(advises: true)
        if wait {
            // Begins all locks before it waits for any of them.
            for mount in served { _ = try? mount.client.lock(now: now) }
        }
        for mount in served {
            do { try lock(mount) } catch let error as CommandError { failures.add(error) }
        }
        for mount in silent { failures.add(mount.failure) }
        try failures.end(of: served.count + silent.count)
    }

    private func lock(_ mount: ServedMount) throws {
        let point = mount.status.mountPoint
        let status: Status
        do {
            // Locks without waiting first: the wait shows the progress of this lock.
            let begun = try mount.client.lock(now: now)
            status = wait && begun.state == .locking ? try end(of: begun, at: mount) : begun
        } catch let error as Failure {
            throw CommandError(error, at: point)
        }
        report(status, at: point)
        if wait, status.state == .unlocked {
            throw CommandError(.failed, "an unlock has cancelled the lock", try: "latchkey lock --now \(point.quoted)")
        }
    }

    /// The status when the mount is not locking any more: locked, or unlocked again.
    private func end(of lock: Status, at mount: ServedMount) throws -> Status {
        // Over a second connection, since the first one waits.
        let progress = try PathArgument.mount(ofVolume: lock.volume).map { other throws(Errno) in
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
                guard let again = PathArgument.mount(ofVolume: lock.volume) else { throw error }
                end = again.status
            }
        }
        return end
    }

    private func report(_ status: Status, at point: String) {
        switch status.state {
        case .locked:
            let took = wait ? status.lastLockDuration.map { ", \(Clock.precisely($0)) after the deadline" } ?? "" : ""
            Standard.output("\(point) is locked: the keys are gone\(took).")
        case .locking:
            guard let left = status.graceRemaining, left > 0 else {
                Standard.output("\(point) is locking: the keys are being taken out.")
                return
            }
            let clock = status.deadline.flatMap { Clock.time($0) }.map { ", at \($0)" } ?? ""
            Standard.output("\(point) is locking: the keys will be gone in \(Clock.seconds(left))\(clock).")
        case .beforeFirstUnlock:
            Standard.output("\(point) has not been unlocked yet: there are no keys to take out.")
        case .unlocked:
            break
        }
    }
}

import ArgumentParser
import Control

/// `latchkey lock`: takes the class keys out of the daemon's memory.
struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lock a mount: after the grace, files of class A are ciphertext, and closed ones of class B.",
        discussion: """
            Programs keep running. Locking again never moves the end of the grace. The signal SIGUSR1 to the daemon \
            does the same.
            """)

    @Flag(help: "Without the grace.")
    var now = false

    @Flag(help: "Return only when the keys are gone, or an unlock has cancelled the lock.")
    var wait = false

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault.", valueName: "dir"))
    var place: String

    func run() throws {
        let mount = try Place.mount(of: place)
        let point = mount.status.mountPoint
        let status: Status
        do {
            if wait, !now, case .unlocked = mount.status.state {
                // Said before the wait, by a call that does not wait.
                report(try mount.client.lock(), at: point)
            }
            status = try mount.client.lock(now: now, wait: wait)
        } catch {
            throw CommandError(error, at: point)
        }
        report(status, at: point)
        if wait, status.state == .unlocked {
            throw CommandError(.failed, "an unlock has cancelled the lock", try: "latchkey lock --now \(point.quoted)")
        }
    }

    private func report(_ status: Status, at point: String) {
        switch status.state {
        case .locked:
            Standard.output("\(point) is locked: the keys are gone.")
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

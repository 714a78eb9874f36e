import ArgumentParser
import Control
import Failure
import Posix

/// `latchkey monitor`: a line for each change of a mount's lock.
struct Monitor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write a line for each change of a mount: about to lock, locked, unlocked.",
        discussion: """
            The first line is the present state. Each further line is a change, written when it happens: \
            will-become-unavailable (a lock, with the time at which the keys go), did-become-unavailable, \
            did-become-available; did-begin-hold, did-end-hold, did-become-held (latchkey hold: the last says that the \
            grace period is over, and for which programs the keys stay); rotation-did-begin, rotation-did-end \
            (latchkey rotate); and did-find-older (files are older than what this machine has seen). No change is \
            missed, and none is written twice. Runs until the mount has ended.

            With --json: an object on each line, with event (absent from the first) and status (what "latchkey status \
            --json" writes). Its sequence grows by 1 with each change.
            """ + Examples.of("latchkey monitor ~/private", "latchkey monitor --json ~/private"))

    @Flag(help: "Write JSON.")
    var json = false

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault. \(onlyMount)", valueName: "dir"))
    var argument: Path?

    func run() throws {
        let mount = try PathArgument.mount(ofOrOnly: argument)
        let instance = mount.status.instance
        var client = mount.client
        var last: MonitorPosition?
        while true {
            try follow(client, after: &last, of: mount.status)
            // If the reader of this output stopped for too long, the daemon has dropped the connection.
            guard let again = PathArgument.mount(again: mount.status), again.status.instance == instance
            else {
                return
            }
            client = again.client
        }
    }

    /// Writes changes until the connection ends.
    private func follow(
        _ client: ControlClient, after last: inout MonitorPosition?, of status: Control.Status
    ) throws {
        var failure: (any Error)?
        do {
            try client.monitor(after: last) { change in
                // Nothing has changed since the last connection.
                if let last, last == change.position { return true }
                last = change.position
                do {
                    Standard.output(json ? try JSON.line(change) : ChangeReport(change).text)
                } catch { failure = error }
                return failure == nil
            }
            if let failure { throw failure }
        } catch Failure.disconnected {
            return
        } catch let error as Failure {
            throw CommandError(error, at: status.mountPoint)
        }
    }
}

/// A change on one line for people.
struct ChangeReport {
    private let change: StatusChange

    init(_ change: StatusChange) { self.change = change }

    var text: Printable {
        let moment = change.status.changed.flatMap { Clock.moment($0) }
        return moment.map { "\($0)  \(what)" } ?? what
    }

    /// The time of the eviction, at the latest.
    private var time: String? { change.status.deadline.flatMap { Clock.time($0) } }

    private var what: Printable {
        guard let event = change.event else { return "\(change.status.state.rawValue)" }
        switch event {
        case .willBecomeUnavailable:
            guard let time else { return "\(event.rawValue)" }
            return change.status.heldBy.map { "\(event.rawValue), at \(time) at the latest, \($0)" }
                ?? "\(event.rawValue), at \(time)"
        case .didBeginHold:
            // The last one to ask is the new one.
            return change.status.holds?.last.map { "\(event.rawValue), \($0.text)" } ?? "\(event.rawValue)"
        case .didEndHold:
            let left = change.status.holds?.count ?? 0
            return left == 0 ? "\(event.rawValue)" : "\(event.rawValue), \(Amount.of(left, "hold")) left"
        case .didBecomeHeld:
            let until = time.map { ", until \($0) at the latest" as Printable } ?? ""
            return "\(event.rawValue)\(until)\(change.status.heldBy.map { ", \($0)" as Printable } ?? "")"
        case .didBecomeUnavailable:
            guard let took = change.status.lastLockDuration else { return "\(event.rawValue)" }
            return "\(event.rawValue), \(Clock.precisely(took)) after the deadline"
        case .didFindOlder:
            return "\(event.rawValue), \(Amount.of(change.status.freshness?.older ?? 0, "file"))"
        case .didBecomeAvailable, .rotationDidBegin, .rotationDidEnd:
            return "\(event.rawValue)"
        }
    }
}

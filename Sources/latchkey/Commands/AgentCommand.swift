import Agent
import ArgumentParser
import Daemon
import Failure
import Glibc
import LockSources
import Posix

/// `latchkey agent`: locks the mounts when the session, the screen or the machine says so.
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Lock the mounts when the screen locks, the machine sleeps, or a security key is pulled out.",
        discussion: """
            Runs until it is ended; for a user, or as root for the machine. The lock sources: session-lock (logind), \
            screensaver, session-inactive (another user was switched to), logout, sleep, shutdown, lid (UPower), idle \
            (logind), security-key and usb (pulled out). sleep and shutdown lock without grace and delay the machine \
            until the keys are gone; the others begin the grace. If the session is unlocked before the grace ends, the \
            lock is taken back. Nothing unlocks a locked vault. The configuration switches sources off \
            (latchkey-config(5)), a policy forbids that. A notification of the desktop tells of a mount that has found \
            files that are older than this machine has seen. As a service: systemctl --user enable --now latchkey-agent.

            --status shows the agent that runs: each source, when it was last heard, and what came of it.
            """ + Examples.of("latchkey agent", "latchkey agent --status"))

    @Flag(help: "Show what the agent that runs has heard and done.")
    var status = false

    @Flag(help: "Write JSON.")
    var json = false

    func validate() throws {
        if json, !status { throw ValidationError("--json goes with --status.") }
    }

    func run() throws {
        if status { return try show() }
        let signals: SignalDescriptor
        do throws(Errno) { signals = try SignalDescriptor(blocking: [SIGTERM, SIGINT]) } catch {
            throw CommandError(.failed, "cannot wait for signals: \(error)")
        }
        // Of the daemons that it tells to lock; not of this process.
        _ = signal(SIGPIPE, SIG_IGN)
        let agent: Agent
        do throws(Failure) { agent = try Agent(.ofThisUser) } catch {
            throw CommandError(.failed, "\(CommandError(error).message)", try: "latchkey agent --status")
        }
        do throws(Errno) { try agent.start() } catch { throw CommandError(Failure.noThread(error)) }
        ServiceManager()?.ready("locks the vaults by itself")
        _ = try? signals.next()
        withExtendedLifetime(agent) {}
    }

    private func show() throws {
        let report = AgentFiles().read()
        if json { return Standard.output(try JSON.text(report)) }
        guard let report else {
            throw CommandError(
                .notFound, "no agent of this user runs", try: "systemctl --user enable --now latchkey-agent")
        }
        Standard.output(AgentText(report).text)
    }
}

import Bus
import Glibc
import LockSources
import Posix

/// The thread of a user's session bus: screensavers, and notifications.
struct SessionBus {
    private let agent: Agent
    private let address: String

    init(_ agent: Agent, _ address: String) {
        self.agent = agent
        self.address = address
    }

    /// Never returns.
    func run() {
        var pause = Reconnection()
        while true {
            do throws(BusError) { try listen { pause.succeeded() } } catch {
                agent.record.set("no session bus: \(error)", of: [.screensaver])
                pause.wait { agent.surroundings.log("no session bus: \(error); the agent waits for one") }
            }
        }
    }

    private func listen(_ connected: () -> Void) throws(BusError) -> Never {
        let bus = try BusConnection(address: address)
        for rule in Screensavers.rules { try bus.match(rule) }
        try bus.match("type='signal',interface='\(Notifications.interface)',member='ActionInvoked'")
        connected()
        agent.record.set(nil, of: [.screensaver])
        let screensavers = Screensavers(user: geteuid())
        var notifications = Notifications()
        while true {
            guard let signal = try bus.next(unless: agent.notices.wakeup.readable) else {
                for notice in agent.notices.take() { notifications.show(notice, bus) }
                continue
            }
            if notifications.isLockNow(signal) { agent.lockNow() }
            if let event = screensavers.event(signal) { agent.take(event) }
        }
    }
}

public import Bus
import LockSources

/// What the signals of screensavers on a session bus mean.
///
/// A value, without the bus. The names are those that KeePassXC's ScreenLockListenerDBus knows, and of Cinnamon, MATE
/// and KDE.
public struct Screensavers: Sendable {
    /// Those that send ActiveChanged with a Boolean.
    static let withActiveChanged = [
        "org.freedesktop.ScreenSaver", "org.gnome.ScreenSaver", "org.cinnamon.ScreenSaver", "org.mate.ScreenSaver",
        "org.xfce.ScreenSaver", "org.kde.screensaver",
    ]
    /// Those that send Locked and Unlocked.
    static let withLocked = ["com.canonical.Unity", "com.canonical.Unity.Session"]

    /// GNOME's, with a number: 3 is idle.
    static let presence = "org.gnome.SessionManager.Presence"

    /// The match rules for a bus.
    static var rules: [String] {
        withActiveChanged.map { "type='signal',interface='\($0)',member='ActiveChanged'" }
            + withLocked.map { "type='signal',interface='\($0)'" }
            + ["type='signal',interface='\(presence)',member='StatusChanged'"]
    }

    private let user: UInt32

    public init(user: UInt32) { self.user = user }

    public func event(_ signal: BusSignal) -> SourceEvent? {
        if Self.withActiveChanged.contains(signal.interface), signal.member == "ActiveChanged",
            let isActive = signal.body.first?.boolean
        {
            return SourceEvent(.screensaver, isActive ? .began : .ended, user: user, subject: signal.interface)
        }
        if signal.interface == Self.presence, signal.member == "StatusChanged",
            let status = signal.body.first?.unsigned
        {
            return SourceEvent(.idle, status == 3 ? .began : .ended, user: user, subject: signal.interface)
        }
        guard Self.withLocked.contains(signal.interface) else { return nil }
        switch signal.member {
        case "Locked": return SourceEvent(.screensaver, .began, user: user, subject: signal.interface)
        case "Unlocked": return SourceEvent(.screensaver, .ended, user: user, subject: signal.interface)
        default: return nil
        }
    }
}

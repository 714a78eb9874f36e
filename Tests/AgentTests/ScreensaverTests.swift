import Agent
import Bus
import Testing

/// What the signals of screensavers mean.
@Suite struct ScreensaverTests {
    private let screensavers = Screensavers(user: 1000)

    private func signal(_ interface: String, _ member: String, _ body: BusValue...) -> BusSignal {
        BusSignal(path: "/", interface: interface, member: member, body: body)
    }

    @Test(arguments: [
        "org.freedesktop.ScreenSaver", "org.gnome.ScreenSaver", "org.cinnamon.ScreenSaver", "org.mate.ScreenSaver",
        "org.xfce.ScreenSaver", "org.kde.screensaver",
    ]) func oneWithActiveChanged(_ name: String) {
        #expect(
            screensavers.heard(signal(name, "ActiveChanged", .boolean(true)))
                == SourceEvent(.screensaver, .began, user: 1000))
        #expect(
            screensavers.heard(signal(name, "ActiveChanged", .boolean(false)))
                == SourceEvent(.screensaver, .ended, user: 1000))
        #expect(screensavers.heard(signal(name, "ActiveChanged")) == nil)
        #expect(screensavers.heard(signal(name, "ActiveChanged", .string("true"))) == nil)
        #expect(screensavers.heard(signal(name, "Locked")) == nil)
    }

    @Test(arguments: ["com.canonical.Unity", "com.canonical.Unity.Session"]) func oneWithLocked(_ name: String) {
        #expect(screensavers.heard(signal(name, "Locked")) == SourceEvent(.screensaver, .began, user: 1000))
        #expect(screensavers.heard(signal(name, "Unlocked")) == SourceEvent(.screensaver, .ended, user: 1000))
        #expect(screensavers.heard(signal(name, "ActiveChanged", .boolean(true))) == nil)
    }

    @Test func gnomesPresence() {
        let name = "org.gnome.SessionManager.Presence"
        #expect(
            screensavers.heard(signal(name, "StatusChanged", .unsigned(3))) == SourceEvent(.idle, .began, user: 1000))
        #expect(
            screensavers.heard(signal(name, "StatusChanged", .unsigned(0))) == SourceEvent(.idle, .ended, user: 1000))
        #expect(screensavers.heard(signal(name, "StatusChanged")) == nil)
        #expect(screensavers.heard(signal(name, "StatusTextChanged", .unsigned(3))) == nil)
    }

    @Test func anotherSignal() {
        #expect(screensavers.heard(signal("org.example.ScreenSaver", "ActiveChanged", .boolean(true))) == nil)
    }
}

extension Screensavers {
    /// What a signal means, without the screensaver that it is of.
    fileprivate func heard(_ signal: BusSignal) -> SourceEvent? {
        event(signal).map { SourceEvent($0.source, $0.phase, user: $0.user) }
    }
}

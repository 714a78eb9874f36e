import Testing

@testable import Daemon

@Suite struct IdleWatchTests {
    /// The lock comes at most the limit after the last use, and at least nine tenths of it.
    @Test(arguments: [0, 1, 7, 13, 49, 50]) func locksInTime(lastUse: Int) {
        var watch = IdleWatch(limit: .seconds(100), now: .zero)
        #expect(watch.interval == .seconds(5))
        var locked: Int?
        for now in stride(from: 5, through: 300, by: 5) where locked == nil {
            let wasUsed = now - 5 < lastUse && lastUse <= now
            if watch.look(wasUsed: wasUsed, isUnlocked: true, now: .seconds(now)) { locked = now }
        }
        #expect(locked.map { lastUse + 90 - 5...lastUse + 100 ~= $0 } == true, "\(String(describing: locked))")
    }

    /// A locked mount is not locked again; an unlock starts the time anew.
    @Test func onlyWhatIsUnlocked() {
        var watch = IdleWatch(limit: .seconds(10), now: .zero)
        let answers = [(false, 1000), (true, 1008), (true, 1009)].map { isUnlocked, now in
            watch.look(wasUsed: false, isUnlocked: isUnlocked, now: .seconds(now))
        }
        #expect(answers == [false, false, true])
    }
}

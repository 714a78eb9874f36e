@testable import Control
import Testing

/// A daemon may answer with any number.
@Suite struct BoundsTests {
    @Test(arguments: [1e300, -1e300, .infinity, -.infinity]) func `times and fractions can be computed with`(
        _ number: Double
    ) throws {
        var status = Status(
            state: .locking, graceRemaining: number, deadline: number, lastLockDuration: number, mountPoint: "/mount",
            vault: "/vault", volume: "", device: 1, deviceKey: "software", grace: number, readOnly: false,
            version: "1", formatVersion: 1, pid: 1, freezeTimeout: number, changed: number, lockWhenIdle: number,
            rotation: Rotation(phase: .renewing, done: number), forgetAfter: number, forgetTime: number)
        status.instance = String(repeating: "x", count: 500_000)
        status.refusals = Refusals(count: 1, lastReason: "", last: number)
        status.longestHold = number
        let long = Hold(
            pid: 1, uid: 1, command: String(repeating: "\u{e9}", count: 200),
            because: String(repeating: "x", count: 200),
            seconds: number)
        status.holds = [Hold](repeating: long, count: 70)
        let bounded = status.bounded
        #expect(bounded.holds?.count == 64)
        let hold = try #require(bounded.holds?.first)
        #expect(hold.command == String(repeating: "\u{e9}", count: 100) && hold.because?.utf8.count == 200)
        #expect((0...1e6).contains(hold.seconds))
        #expect(bounded.instance == nil)
        let times = [
            bounded.graceRemaining, bounded.deadline, bounded.lastLockDuration, bounded.grace, bounded.freezeTimeout,
            bounded.changed, bounded.lockWhenIdle, bounded.forgetAfter, bounded.forgetTime, bounded.refusals?.last,
            bounded.longestHold,
        ]
        for time in times { #expect((0...1e12).contains(try #require(time))) }
        #expect((0...1).contains(try #require(bounded.rotation?.done)))
    }
}

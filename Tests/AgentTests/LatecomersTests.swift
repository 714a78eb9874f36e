@testable import Agent
@testable import Control
import LockSources
import Testing

/// Mounts that come just after an event.
@Suite struct LatecomersTests {
    private let latecomers = Latecomers()
    private let screen = SourceEvent(.sessionLock, user: 1000, subject: "c1")

    @Test func `an event means the mounts that were not there, until it ends`() throws {
        latecomers.begin(screen) { _ in }
        #expect(latecomers.means(try .ofTest("a"), screen))
        #expect(!latecomers.means(try .ofTest("a"), screen.in(.lasts)))
        #expect(latecomers.lasts(screen))
        #expect(latecomers.means(try .ofTest("b"), screen.in(.lasts)))
        #expect(!latecomers.means(try .ofTest("b"), screen.in(.lasts)))
        latecomers.end(screen.in(.ended))
        #expect(!latecomers.lasts(screen))
        #expect(!latecomers.means(try .ofTest("c"), screen.in(.lasts)))
        latecomers.begin(screen) { _ in }
        #expect(latecomers.means(try .ofTest("d"), screen.in(.lasts)))
    }

    @Test func `it ends with its session`() throws {
        let other = SourceEvent(.sessionLock, user: 1000, subject: "c2")
        for event in [screen, other] { latecomers.begin(event) { _ in } }
        latecomers.end(subject: "c1")
        #expect(!latecomers.lasts(screen) && latecomers.lasts(other))
    }

    @Test func `after a logout a person may log in again at once`() throws {
        let logout = SourceEvent(.logout, user: 1000)
        latecomers.begin(logout) { _ in }
        #expect(latecomers.means(try .ofTest("a"), logout))
        #expect(!latecomers.means(try .ofTest("b"), logout.in(.lasts)))
    }

    @Test func `a sleep lasts until the machine is awake`() throws {
        let sleep = SourceEvent(.sleep, user: nil)
        latecomers.begin(sleep) { _ in }
        #expect(latecomers.means(try .ofTest("a"), sleep.in(.lasts)))
        latecomers.forget(sleep)
        #expect(!latecomers.means(try .ofTest("b"), sleep.in(.lasts)))
    }
}

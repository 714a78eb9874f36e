import Testing

@testable import Claims

/// When a silent claim may be taken over, and when the new holder may begin.
@Suite struct ClaimWatchTests {
    private let times = ClaimTimes(lease: .seconds(15))

    private func sight(_ epoch: UInt64, _ bytes: [UInt8]? = [1], released: Bool = false) -> ClaimWatch.Sight {
        ClaimWatch.Sight(epoch: epoch, bytes: bytes, isReleased: released)
    }

    private func watch(_ first: ClaimWatch.Sight) -> ClaimWatch { ClaimWatch(first, times, now: .seconds(100)) }

    /// A holder that was stopped just after a look changes the store for a lease; each phase is longer than that.
    @Test func theTimesFitTogether() {
        #expect(times.watch > times.lease + times.interval)
        #expect(times.settle > times.lease)
        #expect(times.bound == .seconds(75))
    }

    @Test func aSilentHolderIsTakenOver() {
        var watch = watch(sight(7))
        #expect(watch.next(sight(7), now: .seconds(100) + times.watch - .milliseconds(1)) == .wait)
        #expect(watch.next(sight(7), now: .seconds(100) + times.watch) == .take)
        watch.tookOver(epoch: 8, now: .seconds(140))
        #expect(watch.left(now: .seconds(140)) == times.settle)
        #expect(watch.next(sight(8, [2]), now: .seconds(140) + times.settle - .milliseconds(1)) == .wait)
        #expect(watch.next(sight(8, [2]), now: .seconds(140) + times.settle) == .begin)
    }

    @Test func aHolderThatLivesIsNot() {
        var watch = watch(sight(7))
        #expect(watch.next(sight(7, [2]), now: .seconds(101)) == .refuse)
    }

    @Test func anotherIsFaster() {
        var watching = watch(sight(7))
        #expect(watching.next(sight(8), now: .seconds(101)) == .refuse)
        var settling = watch(sight(7))
        settling.tookOver(epoch: 8, now: .seconds(140))
        #expect(settling.next(sight(9), now: .seconds(141)) == .refuse)
        // Its own claim is gone: whatever the reason, it does not begin.
        #expect(settling.next(sight(7), now: .seconds(300)) == .refuse)
    }

    @Test func aClaimThatIsReleasedMeanwhile() {
        var watch = watch(sight(7))
        #expect(watch.next(sight(7, [2], released: true), now: .seconds(101)) == .claim)
    }

    /// A claim that was being made counts from when its bytes were there; one that cannot be read tells nothing.
    @Test func aClaimThatWasBeingMade() {
        var watch = watch(sight(7, nil))
        #expect(watch.next(sight(7, nil), now: .seconds(101)) == .wait)
        #expect(watch.next(sight(7, [1]), now: .seconds(120)) == .wait)
        #expect(watch.next(sight(7, [1]), now: .seconds(100) + times.watch) == .wait)
        #expect(watch.next(sight(7, nil), now: .seconds(121)) == .wait)
        #expect(watch.next(sight(7, [1]), now: .seconds(120) + times.watch) == .take)
        var empty = self.watch(sight(7, nil))
        #expect(empty.next(sight(7, nil), now: .seconds(100) + times.watch) == .take)
    }

    /// Each side goes by the longer of both leases.
    @Test func theLongerLeaseCounts() {
        #expect(times.longest(with: .seconds(3)) == times)
        #expect(times.longest(with: .seconds(60)).bound == .seconds(300))
    }
}

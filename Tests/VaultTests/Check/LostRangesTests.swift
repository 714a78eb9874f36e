import TestSupport
import Testing

@testable import Vault
@testable import VaultCheck

@Suite struct LostRangesTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func rangesInAnyOrderMatchAModel(_ seed: UInt64) {
        var random = SeededRandom(seed)
        var (left, right) = (LostRanges(), LostRanges())
        let lost = (0..<200).filter { _ in Bool.random(using: &random) }.shuffled(using: &random)
        for number in lost {
            let range = UInt64(number) * 10..<UInt64(number) * 10 + 10
            if Bool.random(using: &random) { left.add(range) } else { right.add(range) }
        }
        left.add(right)
        #expect(left.byteCount == UInt64(lost.count * 10))
        #expect(left.isComplete)
        let model = Set(lost)
        #expect(left.ranges.allSatisfy { $0.allSatisfy { model.contains(Int($0 / 10)) } })
        #expect(zip(left.ranges, left.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
        #expect(left.ranges.reduce(0) { $0 + UInt64($1.count) } == left.byteCount)
    }

    @Test func aThousandRangesAreKept() {
        var lost = LostRanges()
        for number in (0..<5000 as Range<UInt64>).reversed() { lost.add(number * 2..<number * 2 + 1) }
        #expect(lost.byteCount == 5000)
        #expect(!lost.isComplete)
        #expect(lost.ranges.first == 0..<1)
        #expect(lost.ranges.count == 1000)
    }
}

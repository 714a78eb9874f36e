import Testing

@testable import latchkey

/// Numbers that only the daemon of another user says.
@Suite struct ClampingTests {
    @Test(arguments: [1e300, -1e300, .infinity, -.infinity, .nan, 0x1p63, -0x1p63])
    func anyNumberHasAText(_ seconds: Double) {
        #expect(Clock.seconds(seconds).hasSuffix(" s"))
        #expect(Clock.precisely(seconds).hasSuffix(" s"))
        #expect(!Amount.time(seconds).isEmpty)
        #expect(!Clock.date(seconds).isEmpty)
    }

    @Test func ordinaryNumbersStay() {
        #expect(Int(clamping: 7.0) == 7 && Int(clamping: -3.0) == -3)
        #expect(Int(clamping: 1e300) == .max && Int(clamping: -1e300) == .min && Int(clamping: Double.nan) == 0)
    }
}

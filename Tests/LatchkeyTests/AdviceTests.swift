import Strength
import Testing

@testable import latchkey

@Suite struct AdviceTests {
    @Test(
        arguments: [
            (0.2, "less than a second"), (1, "about 1 second"), (59, "about 59 seconds"), (7200, "about 2 hours"),
            (86_400 * 40, "about 1 month"), (3.2e7, "about 1 year"), (3.2e9, "about 101 years"),
            (1e300, "more than a million years"),
        ] as [(Double, String)]) func spans(seconds: Double, text: String)
    {
        #expect(PasscodeAdvice.span(seconds) == text)
    }
}

import Posix
import Testing

@testable import Fuse

/// The kernel repeats a call that was answered ESTALE, once.
@Suite struct StaleAnswersTests {
    private let answers = StaleAnswers()
    private let open = StaleAnswers.Call(thread: 7, opcode: 14)
    private let lookup = StaleAnswers.Call(thread: 7, opcode: 1)

    @Test func theRepeatedCallIsToldThatNothingIsThere() {
        #expect(answers.answer(to: open, .ESTALE) == .ESTALE)
        answers.succeeded(lookup)
        #expect(answers.answer(to: open, .ESTALE) == .ENOENT)
        #expect(answers.answer(to: open, .ESTALE) == .ESTALE)
    }

    @Test func aCallThatIsOverIsNotTakenForARepeatedOne() {
        #expect(answers.answer(to: open, .ESTALE) == .ESTALE)
        answers.succeeded(open)
        #expect(answers.answer(to: open, .ESTALE) == .ESTALE)
        #expect(answers.answer(to: lookup, .ENOENT) == .ENOENT)
        #expect(answers.answer(to: open, .ESTALE) == .ESTALE)
    }

    @Test func threadsAndOtherErrorsAreToldApart() {
        #expect(answers.answer(to: open, .ESTALE) == .ESTALE)
        #expect(answers.answer(to: StaleAnswers.Call(thread: 8, opcode: 14), .ESTALE) == .ESTALE)
        #expect(answers.answer(to: StaleAnswers.Call(thread: 9, opcode: 14), .EIO) == .EIO)
        #expect(answers.answer(to: open, .ESTALE) == .ENOENT)
    }

    @Test func threadsThatNeverAskAgainAreForgotten() {
        for thread in 0...Int32(StaleAnswers.most) {
            let call = StaleAnswers.Call(thread: thread, opcode: 14)
            #expect(answers.answer(to: call, .ESTALE) == .ESTALE)
        }
        #expect(answers.answer(to: StaleAnswers.Call(thread: 0, opcode: 14), .ESTALE) == .ESTALE)
        #expect(answers.answer(to: StaleAnswers.Call(thread: 200, opcode: 14), .ESTALE) == .ENOENT)
    }
}

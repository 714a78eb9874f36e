import Posix
import Testing

@testable import Fuse

/// The kernel repeats a call that was answered ESTALE, once.
@Suite struct StaleAnswersTests {
    private let answers = StaleAnswers()
    private let lookup = StaleAnswers.Call(thread: 7, opcode: 1, name: 5)
    private let otherLookup = StaleAnswers.Call(thread: 7, opcode: 1, name: 6)
    private let getattr = StaleAnswers.Call(thread: 7, opcode: 3)
    private let setattr = StaleAnswers.Call(thread: 7, opcode: 4)
    private let getxattr = StaleAnswers.Call(thread: 7, opcode: 22)

    @Test func theRepeatedCallIsToldThatNothingIsThere() {
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
        answers.succeeded(lookup)
        answers.succeeded(getattr)
        #expect(answers.answer(to: getxattr, .ENODATA) == .ENODATA)
        #expect(answers.answer(to: setattr, .ESTALE) == .ENOENT)
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
    }

    /// chmod(2) asks for the attributes before it sets them; either request may find that the name belongs to another
    /// file.
    @Test(arguments: [true, false]) func eachRequestOfACallCounts(attributesFirst: Bool) {
        let (first, second) = attributesFirst ? (getattr, setattr) : (setattr, getattr)
        #expect(answers.answer(to: first, .ESTALE) == .ESTALE)
        answers.succeeded(lookup)
        answers.succeeded(getattr)
        #expect(answers.answer(to: second, .ESTALE) == .ENOENT)
    }

    @Test func aCallThatIsOverIsNotTakenForARepeatedOne() {
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
        answers.succeeded(setattr)
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
        #expect(answers.answer(to: lookup, .ENOENT) == .ENOENT)
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
    }

    /// The kernel has kept the name. The LOOKUP that is to confirm it finds nothing, so the kernel sends another, in
    /// the same call.
    @Test func aNameThatIsGoneAndBackIsStillTheRepeatedCall() {
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
        #expect(answers.answer(to: lookup, .ENOENT) == .ENOENT)
        answers.succeeded(lookup)
        #expect(answers.answer(to: setattr, .ESTALE) == .ENOENT)
    }

    @Test func anotherNameIsAnotherCall() {
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
        #expect(answers.answer(to: lookup, .ENOENT) == .ENOENT)
        answers.succeeded(otherLookup)
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
    }

    @Test func aNameThatIsMissingTwiceEndsTheCall() {
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
        #expect(answers.answer(to: lookup, .ENOENT) == .ENOENT)
        #expect(answers.answer(to: lookup, .ENOENT) == .ENOENT)
        answers.succeeded(lookup)
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
    }

    /// Pages that the kernel reads ahead or writes back, and files that it closes, are no sign that the call is over.
    @Test(arguments: [15, 16, 18, 29]) func whatComesInBetweenChangesNothing(opcode: UInt32) {
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
        answers.succeeded(StaleAnswers.Call(thread: 7, opcode: opcode))
        #expect(answers.answer(to: setattr, .ESTALE) == .ENOENT)
    }

    @Test func threadsAndOtherErrorsAreToldApart() {
        #expect(answers.answer(to: setattr, .ESTALE) == .ESTALE)
        #expect(answers.answer(to: StaleAnswers.Call(thread: 8, opcode: 4), .ESTALE) == .ESTALE)
        #expect(answers.answer(to: StaleAnswers.Call(thread: 9, opcode: 4), .EIO) == .EIO)
        #expect(answers.answer(to: setattr, .ESTALE) == .ENOENT)
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

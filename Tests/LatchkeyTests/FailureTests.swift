import Failure
import Posix
import Testing

@testable import latchkey

/// The words that the one place for them has.
@Suite struct FailureTests {
    @Test func `a wrong guess is told of what was tried, with one exit code`() {
        let failure = Failure.wrongPasscode(guesses: Guesses(left: 1, limit: 4))
        let errors = [
            CommandError(failure, of: "/v"), CommandError(failure, at: "/m"),
            CommandError(failure, mounting: "/v", on: "/m"),
        ]
        for error in errors {
            #expect(error.code == .wrongPasscode)
            #expect(error.message == "wrong passcode; 1 of 4 attempts is left before the vault's keys are erased")
        }
        #expect(Set(errors.map { $0.advice[0] }).count == 3)
        #expect(CommandError(.wrongPasscode(), of: "/v").message == "the passcode is wrong; nothing was changed")
        #expect(
            CommandError(.wrongPasscode(), mounting: "/v", on: "/m").message
                == "the passcode is wrong; nothing was mounted")
    }

    @Test func `a mount that is left behind is told with why it is`() {
        let error = CommandError(.mountLeftBehind(.noThread(.EAGAIN), at: "/a b"), mounting: "/v", on: "/a b")
        #expect(error.code == .failed && error.message.text.hasPrefix("cannot mount /v: cannot make a thread: "))
        #expect(error.message.text.hasSuffix("; its mount is left behind, and fusermount3 -u -z '/a b' removes it"))
    }

    @Test func `only a call that may have been done is in doubt`() {
        for failure in [Failure.timedOut, .disconnected, .socket(.EPIPE, doing: "send"), .malformed("no call")] {
            #expect(CommandError(failure, at: "/m").isInDoubt)
        }
        for failure in [Failure.busy, .wrongPasscode(), .failed(reason: "no"), .unknown(name: "x")] {
            #expect(!CommandError(failure, at: "/m").isInDoubt)
        }
    }

    /// The executable of the daemon has escaped it already.
    @Test func `what a daemon says is not escaped twice`() {
        let reason = CommandError(.io(.EIO, doing: "reading \("\u{1b}\\")"), of: "/v").message.text
        #expect(CommandError(.failed(reason: reason), at: "/m").message.text == reason)
    }

    @Test func `a failing disk is told from a damaged file`() {
        let failing = CommandError(.io(.EIO, doing: "reading lk.keybag"), of: "/v w")
        #expect(failing.advice.map(\.text).first?.hasPrefix("findmnt -T '/v w'") == true)
        let outside = CommandError(cannot: "open the vault", "/v", .EIO)
        #expect(outside.code == .damaged && outside.message.text.contains("disk or file system below it fails"))
    }

    @Test(arguments: [1, 89, 90, 3600, Int.max, Int.min]) func `any wait has words`(_ seconds: Int) {
        #expect(CommandError(.tooManyGuesses(seconds: seconds), of: "/v").code == .wrongPasscode)
    }
}

import Failure
import Posix
import Testing

@testable import Daemon

@Suite struct ReadinessTests {
    @Test func `a daemon that is ready says so`() throws {
        let pipe = try Pipe()
        Readiness.ready().write(to: pipe.writeEnd)
        try Readiness.wait(on: pipe.readEnd)
    }

    @Test func `a daemon that is ready tells its warnings`() throws {
        let pipe = try Pipe()
        Readiness.ready(warnings: ["a \"b\"\n", "c"]).write(to: pipe.writeEnd)
        #expect(try Readiness.wait(on: pipe.readEnd).warnings == ["a \"b\"\n", "c"])
    }

    @Test(arguments: [
        Failure.deviceKeyMissing(path: "/home/a b/\"c\"\n.key"), .wrongPasscode(), .notAVault,
        .wrongPasscode(guesses: Guesses(left: 1, limit: 4)), .wrongKey(kind: .securityKey), .erased(reason: nil),
        .erased(limit: 4, reason: "why"), .io(.ENOSPC, doing: "writing"),
        .mountLeftBehind(.noThread(.EAGAIN), at: "/m"),
    ])
    func `a daemon that cannot start says why`(_ error: Failure) throws {
        let pipe = try Pipe()
        Readiness.failed(error).write(to: pipe.writeEnd)
        #expect(throws: error) { try Readiness.wait(on: pipe.readEnd) }
    }

    @Test func `a daemon that ends without a word has failed`() throws {
        let silent: Descriptor = try Pipe().readEnd
        #expect(throws: Failure.endedBeforeReady) {
            try Readiness.wait(on: silent)
        }
    }
}

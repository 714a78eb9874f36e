import Failure
import Posix
import Testing

@testable import Daemon

@Suite struct ReadinessTests {
    @Test func `a daemon that is ready says so`() throws {
        let pipe = try Pipe()
        Readiness.ready.write(to: pipe.writeEnd)
        try Readiness.wait(on: pipe.readEnd)
    }

    @Test func `a daemon that cannot start says why`() throws {
        let pipe = try Pipe()
        let error = Failure.deviceKeyMissing(path: "/home/a b/\"c\"\n.key")
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

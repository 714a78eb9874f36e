import Foundation
import Glibc
import Posix
import Testing

@Suite struct WaitingTests {
    @Test func pipesWakeThePoll() throws {
        let pipe = try Posix.Pipe()
        let silent = try Posix.Pipe()
        #expect(try Poll.readable([pipe.readEnd], timeout: .zero) == [])
        try pipe.writeEnd.put([1])
        #expect(try Poll.readable([silent.readEnd, pipe.readEnd]) == [1])
        var byte: [UInt8] = [0, 0]
        var span = byte.mutableSpan
        var bytes = unsafe span.mutableBytes
        #expect(try pipe.readEnd.read(into: &bytes) == 1)
    }

    @Test func aClosedPipeEnds() throws {
        var pipe: Posix.Pipe? = try Posix.Pipe()
        let end = try #require(pipe).readEnd
        pipe = nil
        #expect(try Poll.readable([end]) == [0])
    }

    @Test func theTimerFiresOnce() throws {
        let timer = try BootTimer()
        #expect(try !timer.acknowledge())
        let start = BootClock.now
        try timer.arm(at: start + .milliseconds(30))
        #expect(try Poll.readable([timer.descriptor], timeout: .seconds(10)) == [0])
        #expect(BootClock.now - start >= .milliseconds(30))
        #expect(try timer.acknowledge())
        #expect(try !timer.acknowledge())
    }

    @Test func aPastDeadlineFiresAtOnceAndADisarmedTimerNever() throws {
        let timer = try BootTimer()
        try timer.arm(at: .zero)
        #expect(try Poll.readable([timer.descriptor], timeout: .seconds(10)) == [0])
        try timer.disarm()
        #expect(try Poll.readable([timer.descriptor], timeout: .milliseconds(5)) == [])
        try timer.arm(at: BootClock.now + .seconds(1000))
        #expect(try Poll.readable([timer.descriptor], timeout: .milliseconds(5)) == [])
    }

    @Test func signalsArriveInOrderOfAsking() throws {
        let signals = try SignalDescriptor(blocking: [SIGUSR2])
        #expect(try Poll.readable([signals.descriptor], timeout: .zero) == [])
        pthread_kill(pthread_self(), SIGUSR2)
        #expect(try Poll.readable([signals.descriptor], timeout: .seconds(10)) == [0])
        #expect(try signals.next() == SIGUSR2)
    }

    @Test func raisesLimits() throws {
        let files = try ProcessLimits.raiseOpenFiles()
        #expect(files ?? .max >= 1024)
        var now = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &now)
        #expect(now.rlim_cur == now.rlim_max)
        _ = try ProcessLimits.raiseLockedMemory()
    }

    @Test func reservesDescriptors() throws {
        let count = min(5000, ProcessLimits.openFiles)
        // Twice: the second call finds that there is room.
        for _ in 0..<2 { try ProcessLimits.reserveDescriptors(count) }
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("FDSize:") })
        let size = try #require(line.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
        #expect(size >= count)
    }
}

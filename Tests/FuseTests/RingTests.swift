import Foundation
import Glibc
import Posix
import TestSupport
import Testing

@testable import Fuse

extension FuseTests {
    /// What only rings do. All other tests of the binding run on both transports.
    @Suite(.serialized, .enabled(if: RingSwitch.obstacle == nil, "this kernel offers no FUSE over io_uring"))
    struct RingTests {
        private func use(_ path: String) throws {
            try run("sh", ["-ec", "cd '\(path)'; mkdir d; echo x > d/f; cat d/f; ls -lR; mv d e; rm -r e"]).succeeded()
        }

        @Test func theyAreUsed() throws {
            let mounted = try Mounted(options: ["ring"])
            try use(mounted.path)
            #expect(try mounted.ask("transport") == "ring")
        }

        /// The kernel has said that it offers them, and refuses each slot: requests come from /dev/fuse then.
        @Test func theyAreRefusedAtTheLastStep() throws {
            let mounted = try Mounted(options: ["short-ring"])
            try use(mounted.path)
            #expect(try mounted.program.line(within: 10).contains("the kernel has refused io_uring: "))
            #expect(try mounted.ask("transport") == "device EINVAL")
            #expect(try mounted.ask("unmount lazily") == "done")
        }

        /// One slot is refused: the kernel uses the others.
        @Test func oneThatIsRefused() throws {
            let mounted = try Mounted(options: ["one-short-slot"])
            for processor in 0..<4 {
                _ = try? run("taskset", ["-c", "\(processor)", "ls", mounted.path], within: 20)
                try use(mounted.path)
            }
            #expect(try mounted.ask("transport") == "ring")
            #expect(try mounted.ask("unmount lazily") == "done")
        }

        /// Requests that are answered later keep their slots, and others get new ones.
        @Test func requestsThatWaitDoNotUseUpTheQueue() throws {
            let mounted = try Mounted(options: ["ring"])
            try mounted.root.create("file", [1])
            #expect(try mounted.ask("delay-open 3000") == "done")
            let reading = "cat '\(mounted.path)/file' > /dev/null"
            let readers = try LineProgram(
                "sh", ["-c", "for i in $(seq 200); do \(reading) & done; echo all; wait; echo ended"])
            #expect(try readers.line(within: 20) == "all")
            // Meanwhile on each processor.
            let using = "for i in 1 2 3 4 5; do mkdir d$i; ls; stat d$i; rmdir d$i; done"
            try run("sh", ["-ec", "cd '\(mounted.path)'; \(using)"]).succeeded()
            #expect(try readers.line(within: 30) == "ended")
            try mounted.wait(for: "handles 0", to: "handles")
            // What waited has given its slots back: they serve again.
            #expect(try mounted.ask("delay-open 0") == "done")
            try use(mounted.path)
        }

        @Test func anUnmountUnderLoad() throws {
            for _ in 0..<5 {
                let mounted = try Mounted(options: ["ring"], opensRoot: false)
                let writing = "(cd '\(mounted.path)'; while echo x >> f$i; do :; done) 2> /dev/null"
                let all = "for i in 1 2 3 4 5 6; do \(writing) & done; echo all; wait"
                let writers = try LineProgram("sh", ["-c", all])
                #expect(try writers.line(within: 20) == "all")
                usleep(100_000)
                #expect(try mounted.ask("abort") == "done")
                #expect(try writers.end(within: 20) == 0)
                #expect(try mounted.program.line(within: 20).hasPrefix("ended handles=0"))
                #expect(try mounted.program.end(within: 10) == 0)
            }
        }

        /// A processor that goes off and comes back while the mount is used.
        @Test(.enabled(if: geteuid() == 0 && Disk.exists("/sys/devices/system/cpu/cpu1/online")))
        func processorsThatComeAndGo() throws {
            let switchFile = "/sys/devices/system/cpu/cpu1/online"
            defer { try? Disk.write(Array("1\n".utf8), to: switchFile) }
            let mounted = try Mounted(options: ["ring"])
            try use(mounted.path)
            try Disk.write(Array("0\n".utf8), to: switchFile)
            try use(mounted.path)
            // One that is mounted while it is off, and used when it is on.
            let other = try Mounted(options: ["ring"])
            try use(other.path)
            try Disk.write(Array("1\n".utf8), to: switchFile)
            for path in [mounted.path, other.path] {
                try run("taskset", ["-c", "1", "sh", "-ec", "cd '\(path)'; echo x > f; cat f; ls; rm f"]).succeeded()
                try run("taskset", ["-c", "0", "sh", "-ec", "cd '\(path)'; echo x > f; cat f; ls; rm f"]).succeeded()
            }
            #expect(try other.ask("transport") == "ring")
        }
    }

    /// Processors that are possible, and off, cost addresses, and no memory before a program runs there.
    @Test func slotsThatAreNotUsedTakeNoMemory() throws {
        func pages() throws -> [Int] {
            try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ").compactMap { Int($0) }
        }
        let dispatcher = try RingDispatcher(FuseDevice(try Descriptor.open(path: "/dev/null", O_RDWR)))
        let before = try pages()
        let slots = try (0..<62).map { try RingSlot(queue: $0, payload: 1 << 20, dispatcher) }
        let after = try pages()
        let size = Int(getpagesize())
        // A sanitizer maps and unmaps memory of its own.
        #expect((after[0] - before[0]) * size >= (slots.count - 2) << 20)
        #expect((after[1] - before[1]) * size < 4 << 20)
    }

    @Test(arguments: [
        ("0", [0]), ("0-3", [0, 1, 2, 3]), ("0-1,4,6-7\n", [0, 1, 4, 6, 7]), ("", []), ("a-b", []), ("3-1", []),
        ("70000", []),
    ]) func processorsAreParsed(text: String, numbers: [Int]) {
        #expect(Processors.parse(text) == numbers)
    }
}

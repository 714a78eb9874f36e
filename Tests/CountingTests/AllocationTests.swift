import Glibc
import TestSupport
import Testing

/// What reading and writing take of malloc(3) and of Swift's runtime does not grow with the blocks that they are about.
@Suite struct AllocationTests {
    struct Calls: Equatable {
        var allocations: Int
        var retains: Int
        var locks: Int
    }

    #if DEBUG
        private static let isOptimized = false
    #else
        private static let isOptimized = true
    #endif

    /// tools/sanitize sets these. Then locks are not counted.
    private static let isSanitized = unsafe getenv("ASAN_OPTIONS") != nil || getenv("TSAN_OPTIONS") != nil

    /// Of code that is not optimized this says nothing: there each turn of a loop may allocate.
    @Test(.enabled(if: isOptimized), arguments: ["read", "write"]) func noneForEachBlock(_ act: String) throws {
        let calls = try counted()
        // That the counters count.
        let all = try #require(calls["all 0"])
        #expect(all.allocations > 100 && all.retains > 100, "\(calls)")
        let one = try #require(calls["\(act) 1"])
        let many = try #require(calls["\(act) 256"])
        #expect(one.allocations <= 2 && many.allocations <= 2, "\(calls)")
        #expect(one.retains <= 16 && many.retains <= one.retains + 1, "\(calls)")
    }

    /// A request waits once for others on its file, once it has passed the gate.
    @Test(.enabled(if: !isSanitized), arguments: ["read", "write"]) func theLockOfAFileIsTakenOnce(_ act: String) throws
    {
        let calls = try counted()
        for blocks in [1, 256] { #expect(calls["\(act) \(blocks)"]?.locks == 1, "\(calls)") }
    }

    private func counted() throws -> [String: Calls] {
        let said = try run(Built.counting, []).text
        return try said.split(separator: "\n").reduce(into: [:]) { calls, line in
            let words = line.split(separator: " ")
            let counts = try words.suffix(3).map { try #require(Int($0)) }
            calls[words.prefix(2).joined(separator: " ")] =
                Calls(allocations: counts[0], retains: counts[1], locks: counts[2])
        }
    }
}

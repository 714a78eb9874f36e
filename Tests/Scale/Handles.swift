import Glibc
import Posix
import Synchronization
import TestSupport

/// Files that stay open while threads write to, read, map, truncate, sync, rename and reopen them.
final class Handles: Sendable {
    private let files: [OpenFile]
    private let seed: UInt64
    private let operations = Atomic<Int>(0)
    private let threads = Atomic<UInt64>(0)

    init(in folder: String, files: Int, seed: UInt64) throws {
        self.seed = seed
        var made: [OpenFile] = []
        for number in 0..<files { made.append(try OpenFile(number, in: folder)) }
        self.files = made
    }

    /// All threads end after this many seconds; then every file is read as a whole.
    func run(threads count: Int, seconds: Int) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        runInParallel(count) { [self] in
            let thread = threads.add(1, ordering: .relaxed).newValue
            guard thread <= count else { return }
            var random = SeededRandom(seed &* 1000 &+ thread)
            do {
                while ContinuousClock.now < end {
                    try files.randomElement(using: &random)!.act(&random)
                    operations.add(1, ordering: .relaxed)
                }
            } catch { fail(error) }
        }
        guard threads.load(ordering: .relaxed) == count else { fail("not so many threads") }
        for file in files { try file.verify() }
        print("operations\t\(operations.load(ordering: .relaxed))")
    }
}

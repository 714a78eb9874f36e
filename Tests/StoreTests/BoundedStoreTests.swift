import Glibc
import Posix
import Store
import Synchronization
import TestStores
import TestSupport
import Testing

/// A store over one that hangs when it is told.
@Suite struct BoundedStoreTests {
    let folder = try! TemporaryFolder()
    let base: InterceptingStore<Hang>
    let store: BoundedStore
    var hang: Hang { base.hook }

    init() throws {
        base = InterceptingStore(try folder.store(), hook: Hang())
        store = try BoundedStore(base)
    }

    /// Runs a call on a thread of its own; the closure that it returns waits for the error, nil if there is none.
    private func start(_ body: @escaping @Sendable () throws -> Void) throws -> () -> Posix.Errno? {
        let outcome = Mutex<Posix.Errno?>(nil)
        let held = Held(outcome)
        let worker = Worker()
        try worker.start {
            do { try body() } catch { held.outcome.withLock { $0 = error as? Posix.Errno ?? .EINVAL } }
        }
        return {
            worker.join()
            return held.outcome.withLock { $0 }
        }
    }

    private final class Held: Sendable {
        let outcome: Mutex<Posix.Errno?>
        init(_ outcome: consuming Mutex<Posix.Errno?>) { self.outcome = outcome }
    }

    @Test func doesEveryCall() throws {
        try makeEveryCall(to: store)
        #expect(store.givenUpCount == 0)
    }

    @Test func failsAsTheStoreDoes() throws {
        #expect(throws: Posix.Errno.ENOENT) { try store.open("nothing", in: store.root, O_RDONLY) }
        // Else the vault would take a flush that has failed for one that was given up.
        let faulty = FaultInjectingStore(try folder.store())
        let bounded = try BoundedStore(faulty)
        let file = try bounded.make("file")
        faulty.faults.fail(.synchronize, with: .ETIMEDOUT)
        #expect(throws: Posix.Errno.EIO) { try bounded.synchronize(file, dataOnly: false) }
    }

    /// A call that hung before the hurry, one that begins in it, and all that could not end either.
    @Test func givesUpWhatHangsInAHurry() throws {
        let (file, other) = (try store.make("file"), try store.make("other"))
        hang.stop(.read)
        let early = try start { [store] in _ = try store.bytes(of: file) }
        hang.untilWaiting(1)
        store.begin(.lock)
        let late = try start { [store] in _ = try store.bytes(of: other) }
        #expect(early() == .notAnswered)
        #expect(late() == .notAnswered)
        #expect(store.givenUpCount == 2)
        #expect(throws: Posix.Errno.notAnswered) { try store.put([1], to: other) }
        store.finish(.lock)
        hang.go()
        store.awaitGivenUp()
        try store.put([2], to: other)
        #expect(try store.bytes(of: other) == [2])
    }

    /// Its descriptor was released by the caller, which had given up; so a thread of the store closes it.
    @Test func waitsWithoutAHurry() throws {
        let file = try store.make("file")
        try store.put([1, 2, 3], to: file)
        hang.stop(.read)
        let read = try start { [store] in
            guard try store.bytes(of: file) == [1, 2, 3] else { throw Posix.Errno.EBADMSG }
        }
        hang.untilWaiting(1)
        // Another file, and other calls on this one, do not wait for it.
        try store.put([4], to: file, at: 3)
        #expect(try store.status(of: file).size == 4)
        hang.go()
        #expect(read() == .EBADMSG)
    }

    /// What the store carries out late never comes behind a later call on the same file or folder.
    @Test func keepsLaterCallsBehindOneThatWasGivenUp() throws {
        let (file, other) = (try store.make("file"), try store.make("other"))
        hang.stop(.write)
        let first = try start { [store] in try store.put([1, 1], to: file) }
        hang.untilWaiting(1)
        store.begin(.lock)
        #expect(first() == .notAnswered)
        #expect(throws: Posix.Errno.notAnswered) { try store.put([2], to: file) }
        #expect(throws: Posix.Errno.notAnswered) { try store.status(of: file) }
        store.finish(.lock)
        let second = try start { [store] in try store.put([3], to: file) }
        let size = try start { [store] in
            guard try store.status(of: file).size == 2 else { throw Posix.Errno.EBADMSG }
        }
        #expect(try store.status(of: other).size == 0)
        hang.go()
        #expect(second() == nil)
        #expect(size() == nil)
        #expect(try store.bytes(of: file) == [3, 1])
    }

    @Test func keepsNamesOfOneFolderInOrder() throws {
        _ = try store.make("file")
        let file = try store.open("file", in: store.root, O_RDONLY)
        hang.stop(.rename)
        let rename = try start { [store] in try store.rename("file", in: store.root, to: "new", in: store.root) }
        hang.untilWaiting(1)
        store.begin(.lock)
        #expect(rename() == .notAnswered)
        #expect(throws: Posix.Errno.notAnswered) { try store.make("file") }
        store.finish(.lock)
        let make = try start { [store] in _ = try store.make("file") }
        hang.go()
        #expect(make() == nil)
        #expect(try store.names() == ["file", "new"])
        withExtendedLifetime(file) {}
    }

    /// Whether a flush that was given up has failed is known later, and told then.
    @Test(arguments: [nil, Posix.Errno.EIO]) func tellsHowAFlushEnded(error: Posix.Errno?) throws {
        let (file, other) = (try store.make("file"), try store.make("other"))
        hang.stop(.synchronize)
        let flush = try start { [store] in try store.synchronize(file, dataOnly: true) }
        hang.untilWaiting(1)
        store.begin(.lock)
        #expect(flush() == .notAnswered)
        // A flush that takes long does not show that the store hangs.
        try store.put([1], to: file)
        #expect(throws: Posix.Errno.notAnswered) { try store.synchronize(other, dataOnly: true) }
        store.finish(.lock)
        let next = try start { [store] in try store.synchronize(file, dataOnly: true) }
        hang.go(failing: error)
        #expect(next() == error)
        for _ in 0..<2 {
            let again = try start { [store] in try store.synchronize(file, dataOnly: false) }
            #expect(again() == error)
        }
        try store.synchronize(other, dataOnly: true)
    }

    /// With one thread, which hangs: what has not reached the store when it is given up never does.
    @Test func doesNotSendWhatWasGivenUpBefore() throws {
        let small = try BoundedStore(base, threads: 1, helpers: 0)
        let (file, other) = (try small.make("file"), try small.make("other"))
        try small.put([1], to: other)
        hang.stop(.read)
        let read = try start { _ = try small.bytes(of: file) }
        hang.untilWaiting(1)
        let write = try start { try small.put([2], to: other) }
        small.begin(.lock)
        #expect(read() == .notAnswered)
        #expect(write() == .notAnswered)
        #expect(throws: Posix.Errno.notAnswered) { try small.put([3], to: other) }
        small.finish(.lock)
        hang.go()
        #expect(try small.bytes(of: other) == [1])
    }

    // MARK: Large reads

    private static let large = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 8) }

    @Test(arguments: [0, 1, 131_071, 131_072, 131_073, 262_144, 400_000, 524_289, 699_999, 700_000, 1_065_024])
    func readsInParts(count: Int) throws {
        let file = try store.make("file")
        try store.put(Self.large, to: file)
        #expect(try store.bytes(of: file, count) == Array(Self.large.prefix(count)))
        #expect(try store.bytes(of: file, count, at: 300_001) == Array(Self.large.dropFirst(300_001).prefix(count)))
        #expect(try store.bytes(of: file, count, at: 700_000) == [])
    }

    @Test func readsPartsAtTheSameTime() throws {
        let file = try store.make("file")
        try store.put(Self.large, to: file)
        hang.stop(.read)
        let read = try start { [store] in
            guard try store.bytes(of: file, 700_000) == Self.large else { throw Posix.Errno.EBADMSG }
        }
        // 700,000 bytes are 6 steps, of which each of three parts has two.
        hang.untilWaiting(3)
        hang.go()
        #expect(read() == nil)
    }

    /// Parts of reads that hang take no thread from other calls, also after they were given up.
    @Test func partsTakeNoThreadFromOthers() throws {
        let small = try BoundedStore(base, threads: 3, helpers: 2)
        let (file, other) = (try small.make("file"), try small.make("other"))
        try small.put(Self.large, to: file)
        hang.stop(.read)
        let reads = try (0..<2).map { _ in try start { _ = try small.bytes(of: file, 700_000) } }
        // The first one has both helpers, the other one none; a third thread is left.
        hang.untilWaiting(4)
        #expect(try small.status(of: other).size == 0)
        small.begin(.lock)
        #expect(reads.map { $0() } == [.notAnswered, .notAnswered])
        #expect(small.givenUpCount == 4)
        small.finish(.lock)
        #expect(try small.status(of: other).size == 0)
        hang.go()
        small.awaitGivenUp()
        #expect(try small.bytes(of: file, 700_000) == Self.large)
    }

    @Test func aPartThatFailsFailsTheRead() throws {
        let file = try store.make("file")
        try store.put(Self.large, to: file)
        hang.stop(.read)
        let read = try start { [store] in _ = try store.bytes(of: file, 700_000) }
        hang.untilWaiting(3)
        hang.go(failing: .EBADF)
        #expect(read() == .EBADF)
    }
}

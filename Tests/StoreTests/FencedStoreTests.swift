import Glibc
import Posix
import Store
import Synchronization
import TestStores
import TestSupport
import Testing

/// A store that another machine may take over.
@Suite struct FencedStoreTests {
    private final class Loss: Fence, Interceptor {
        private let lost = Atomic(false)
        private let comes = Atomic(false)

        var isLost: Bool { lost.load(ordering: .acquiring) }

        func check() throws(Posix.Errno) {
            if isLost { throw .EIO }
        }
        func beginHurry() {}
        func endHurry() {}

        /// Another machine takes over while the next call runs.
        func comeWithTheNextCall() { comes.store(true, ordering: .releasing) }

        func end() { lost.store(false, ordering: .releasing) }

        func intercept<Result>(
            _ operation: Operation, on store: any Store, _ proceed: () throws(Posix.Errno) -> Result
        ) throws(Posix.Errno) -> Result {
            let result = try proceed()
            if comes.exchange(false, ordering: .acquiringAndReleasing) { lost.store(true, ordering: .releasing) }
            return result
        }
    }

    /// What was read meanwhile may be half of the one machine and half of the other.
    @Test func aReadDuringWhichTheStoreIsLostDoesNotCount() throws {
        let folder = try TemporaryFolder()
        let loss = Loss()
        let store = FencedStore(InterceptingStore(try folder.store(), hook: loss), loss)
        let file = try store.make("file")
        try store.makeSymbolicLink(to: Array("file".utf8), "link", in: store.root)
        let reads: [() throws -> Void] = [
            { _ = try store.bytes(of: file) },
            { _ = try store.entries(of: store.root) },
            { _ = try store.status(of: file) },
            { _ = try store.status(of: "file", in: store.root) },
            { _ = try store.open("file", in: store.root, O_RDONLY, mode: 0) },
            { _ = try store.readSymbolicLink("link", in: store.root) },
            { _ = try store.attributeNames(of: file) },
            { _ = try store.nextData(of: file, from: 0) },
        ]
        for read in reads {
            try read()
            loss.comeWithTheNextCall()
            #expect(throws: Posix.Errno.EIO) { try read() }
            loss.end()
        }
    }
}

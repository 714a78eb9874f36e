import Glibc
import Posix
import Store
import TestStores
import TestSupport
import Testing

@Suite struct FaultTests {
    let folder = try! TemporaryFolder()
    let store: FaultInjectingStore
    var faults: FaultPlan { store.faults }

    init() throws {
        store = FaultInjectingStore(try folder.store())
    }

    @Test(arguments: Operation.Kind.allCases)
    func everyKindFails(kind: Operation.Kind) throws {
        faults.fail(kind, with: .EDQUOT)
        #expect(throws: Posix.Errno.EDQUOT) { try makeEveryCall(to: store) }
        #expect(faults.injected == 1)
    }

    @Test func failsTheNthOnce() throws {
        let file = try store.make("file")
        faults.fail(.write, nth: 2, with: .ENOSPC)
        try store.put([1], to: file, at: 0)
        #expect(throws: Posix.Errno.ENOSPC) { try store.put([2], to: file, at: 1) }
        try store.put([3], to: file, at: 2)
        #expect(try store.bytes(of: file) == [1, 0, 3])
    }

    @Test func lastsUntilCleared() throws {
        let file = try store.make("file")
        faults.fail(.synchronize, with: .EIO, lasts: true)
        for _ in 0..<3 {
            #expect(throws: Posix.Errno.EIO) { try store.synchronize(file, dataOnly: false) }
        }
        faults.clear()
        try store.synchronize(file, dataOnly: false)
        #expect(faults.injected == 3)
    }

    @Test func failsAfterHalfOrAll() throws {
        let file = try store.make("file")
        faults.fail(.write, with: .ENOSPC, effect: .half)
        #expect(throws: Posix.Errno.ENOSPC) { try store.put([1, 2, 3, 4], to: file) }
        #expect(try store.bytes(of: file) == [1, 2])
        faults.fail(.unlink, with: .EIO, effect: .whole)
        #expect(throws: Posix.Errno.EIO) { try store.unlink("file", in: store.root) }
        #expect(try store.names() == [])
    }

    @Test func countsChangesAlone() throws {
        let file = try store.make("file")
        faults.fail(nil, nth: 2, with: .EROFS)
        _ = try store.bytes(of: file)
        _ = try store.open("file", in: store.root, O_RDONLY)
        try store.truncate(file, to: 3)
        #expect(throws: Posix.Errno.EROFS) { try store.open("file", in: store.root, O_RDWR | O_TRUNC) }
        #expect(try store.status(of: file).size == 3)
    }

    @Test func whatFailsLaterMayBeMore() throws {
        faults.fail(.all, nth: 2, with: .ENOSPC, then: .growth)
        let file = try store.make("file")
        #expect(throws: Posix.Errno.ENOSPC) { try store.bytes(of: file) }
        #expect(throws: Posix.Errno.ENOSPC) { try store.put([1], to: file, at: 0) }
        try store.truncate(file, to: 3)
        try store.unlink("file", in: store.root)
        #expect(throws: Posix.Errno.ENOSPC) { try store.makeDirectory("folder", in: store.root, mode: 0o700) }
        #expect(faults.failed == [.read, .write, .makeDirectory])
    }
}

import Foundation
import Glibc
import Posix
import Store
import TestStores
import TestSupport
import Testing

@Suite struct RecordingTests {
    let folder = try! TemporaryFolder()
    let copy = try! TemporaryFolder()

    private func replayed(_ records: some Sequence<Record>) throws -> Tree {
        let store = try copy.store()
        var replay = Replay(into: store)
        try replay.apply(records)
        return try Tree(of: store)
    }

    @Test func theRecordMakesTheStoreAgain() throws {
        let store = try RecordingStore(folder.store())
        try makeEveryCall(to: store)
        let tree = try Tree(of: folder.store())
        #expect(tree.items.count == 6)
        #expect(try replayed(store.recorder.records) == tree)
        let time = try copy.store().status(of: "file", in: copy.store().root).modified
        #expect(time == Timespec(seconds: 1_000_000_000, nanoseconds: 5))
    }

    @Test func whatWasFoundIsRecordedFirst() throws {
        try makeEveryCall(to: folder.store())
        let tree = try Tree(of: folder.store())
        let store = try RecordingStore(folder.store())
        #expect(store.recorder.count == store.recorder.foundCount)
        #expect(try replayed(store.recorder.records) == tree)
        // Files that existed before, linked or removed, are known by their identity.
        let file = try store.open("file", in: store.root, O_RDWR)
        try store.put([1], to: file, at: 2)
        let found = store.recorder.foundCount
        guard case .write([1], let inode, 2) = store.recorder.records[found].change else {
            Issue.record("not the write")
            return
        }
        #expect(store.recorder.records[..<found].contains { $0.made == inode })
    }

    @Test func keepsOrderFlushesAndBytes() throws {
        let store = try RecordingStore(folder.store())
        let start = store.recorder.count
        let file = try store.make("a")
        try store.put([1, 2], to: file, at: 7)
        try store.synchronize(file, dataOnly: true)
        try store.rename("a", in: store.root, to: "b", in: store.root)
        try store.synchronize(store.root, dataOnly: false)
        _ = try store.bytes(of: file)
        _ = try store.open("b", in: store.root, O_RDWR | O_CREAT, mode: 0o600)
        _ = try store.open("b", in: store.root, O_RDWR | O_TRUNC)
        try store.synchronizeAll()
        let inode = RecordedInode(number: 1)
        #expect(
            store.recorder.records[start...] == [
                Record(.create("a", in: .root, mode: 0o600), made: inode),
                Record(.write([1, 2], to: inode, at: 7)),
                Record(.synchronize(inode, dataOnly: true)),
                Record(.rename("a", in: .root, to: "b", newDirectory: .root, flags: 0)),
                Record(.synchronize(.root, dataOnly: false)),
                Record(.truncate(inode, to: 0)),
                Record(.synchronizeAll),
            ])
        #expect(store.recorder.records[start...].map(\.isFlush) == [false, false, true, false, true, false, true])
    }

    @Test func aFileThatTakesAnotherInodeNumberIsAnother() throws {
        let store = try RecordingStore(folder.store())
        var made: Set<RecordedInode> = []
        for _ in 0..<20 {
            _ = try store.make("file")
            made.insert(try #require(store.recorder.records.last?.made))
            try store.unlink("file", in: store.root)
        }
        #expect(made.count == 20)
    }

    @Test func failuresLeaveNoRecordAndHalvesLeaveTheirHalf() throws {
        let recording = try RecordingStore(folder.store())
        let store = FaultInjectingStore(recording)
        let file = try store.make("file")
        let count = recording.recorder.count
        #expect(throws: Posix.Errno.ENOENT) { try store.unlink("other", in: store.root) }
        store.faults.fail(.write, with: .ENOSPC)
        #expect(throws: Posix.Errno.ENOSPC) { try store.put([1, 2], to: file) }
        #expect(recording.recorder.count == count)
        store.faults.fail(.write, with: .ENOSPC, effect: .half)
        #expect(throws: Posix.Errno.ENOSPC) { try store.put([1, 2], to: file) }
        #expect(recording.recorder.records.last?.change == .write([1], to: RecordedInode(number: 1), at: 0))
    }

    @Test func manyThreadsMakeOneOrder() throws {
        let store = try RecordingStore(folder.store())
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for step in 0..<50 {
                do {
                    let file = try store.open("shared", in: store.root, O_RDWR | O_CREAT, mode: 0o600)
                    try store.put([UInt8(thread), UInt8(step)], to: file, at: Int64(step % 7))
                    if step % 10 == thread { try store.unlink("shared", in: store.root) }
                } catch {
                    // Another thread removed it first.
                    #expect(error as? Posix.Errno == .ENOENT)
                }
            }
        }
        #expect(try replayed(store.recorder.records) == Tree(of: folder.store()))
    }
}

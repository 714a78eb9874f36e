import Posix
import Synchronization
import TestStores
import Testing

@testable import Vault

/// How many store calls everyday operations cost: each is a system call, and a flush waits for the disk.
@Suite struct StoreCallTests {
    private let counter = CallCounter()

    private func vault() throws -> TestVault { try TestVault { [counter] in InterceptingStore($0, hook: counter) } }

    /// Nothing is set that already has the value.
    @Test func aNewFile() throws {
        let test = try vault()
        let calls = try counter.calls { _ = try test.create("file") }
        #expect(calls == [.status: 2, .attribute: 1, .open: 1, .write: 1, .rename: 1], "\(calls)")
    }

    @Test func aBlockOverABlock() throws {
        let test = try vault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 40_960), at: 0)
        let whole = try counter.calls { try file.write([UInt8](repeating: 2, count: 4096), at: 8192) }
        #expect(whole == [.write: 1], "\(whole)")
        let part = try counter.calls { try file.write([3], at: 8193) }
        #expect(part == [.read: 1, .write: 1], "\(part)")
        let end = try counter.calls { try file.write([4], at: 40_960) }
        #expect(end == [.write: 1], "\(end)")
        let behind = try counter.calls { try file.write([5], at: 40_961) }
        #expect(behind == [.read: 1, .write: 1], "\(behind)")
    }

    /// The journal's own time costs a call only where a copy may have seen the time that the clock gives it.
    @Test func aBlockOverASyncedBlock() throws {
        let test = try vault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 40_960), at: 0)
        try file.synchronize(dataOnly: true)
        let journal = try test.vault.openJournal()
        /// The calls of a write, and whether the journal still has its stamp.
        func write(stamp: Int64, clockTime: Int64) throws -> (calls: [Operation.Kind: Int], isStamped: Bool) {
            journal.state.withLock { $0.times = (stamp, clockTime) }
            let calls = try counter.calls { try file.write([UInt8](repeating: 2, count: 4096), at: 8192) }
            return (calls, try journal.file.status().modified == Timespec(seconds: stamp, nanoseconds: 0))
        }
        let now = Timespec.now.seconds
        // Its intent, too.
        _ = try write(stamp: now - 10, clockTime: now - 20)
        let passed = try write(stamp: now - 10, clockTime: now - 20)
        #expect(passed == ([.status: 2, .write: 1], false))
        #expect(try write(stamp: now + 100, clockTime: now - 20) == ([.status: 2, .write: 1, .setTimes: 1], true))
        // The clock was set back.
        #expect(try write(stamp: now - 10, clockTime: now + 100) == ([.status: 2, .write: 1, .setTimes: 1], true))
    }

    /// With its name and all of its status.
    @Test func theFirstSyncIsOneFlush() throws {
        let test = try vault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 10_000), at: 0)
        let calls = try counter.calls { try file.synchronize(dataOnly: false) }
        #expect(calls[.synchronize] == 1 && calls[.synchronizeAll] == nil, "\(calls)")
        let again = try counter.calls { try file.synchronize(dataOnly: true) }
        #expect(again == [:], "\(again)")
    }

    /// What is in memory is not read again: each atomic save looks up and opens the file that it replaces.
    @Test func aFileInMemory() throws {
        let test = try vault()
        let file = try test.create("file")
        try file.write([1], at: 0)
        let found = try counter.calls { _ = try test.vault.lookup("file", in: test.root) }
        #expect(found == [.status: 2], "\(found)")
        let opened = try counter.calls {
            let again = try test.vault.openFile(
                "file", in: test.root, expecting: (file.identity.identifier, file.identity.inode))
            #expect(again === file)
        }
        #expect(opened == [.status: 1], "\(opened)")
    }

    /// Each name is read once.
    @Test func aRename() throws {
        let test = try vault()
        try test.create("old").write([1], at: 0)
        try test.vault.checkpoint()
        let calls = try counter.calls {
            let (old, new) = (
                try test.vault.renameEnd("old", in: test.root), try test.vault.renameEnd("new", in: test.root)
            )
            let file = try test.vault.openFile("old", in: test.root)
            try test.vault.rename(old, .file(file), to: new, replaced: nil, RenameKind())
        }
        // Where the store keeps no order of metadata.
        let expected: [Operation.Kind: Int] = [
            .status: 8, .open: 1, .read: 1, .write: 1, .setTimes: 1, .synchronize: 1, .rename: 1,
        ]
        #expect(calls == expected, "\(calls)")
    }

    /// As an editor saves: one flush for the contents, and one for the name.
    @Test func anAtomicSaveIsTwoFlushes() throws {
        let test = try vault()
        try test.create("saved").write([UInt8](repeating: 1, count: 5000), at: 0)
        try test.vault.checkpoint()
        let replaced = try test.vault.openFile("saved", in: test.root).header
        let file = try test.create("new")
        let calls = try counter.calls {
            try file.write([UInt8](repeating: 2, count: 5000), at: 0)
            try file.synchronize(dataOnly: false)
            try test.vault.rename(
                test.vault.renameEnd("new", in: test.root), .file(file),
                to: test.vault.renameEnd("saved", in: test.root), replaced: ReplacedFile(replaced), RenameKind())
        }
        #expect(calls[.synchronize] == 2 && calls[.synchronizeAll] == nil, "\(calls)")
        #expect(try file.contents(6000) == [UInt8](repeating: 2, count: 5000))
    }
}

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
                "new", in: test.root, .file(file), to: "saved", in: test.root, replaced: ReplacedFile(replaced),
                replacesDirectory: false, RenameKind())
        }
        #expect(calls[.synchronize] == 2 && calls[.synchronizeAll] == nil, "\(calls)")
        #expect(try file.contents(6000) == [UInt8](repeating: 2, count: 5000))
    }
}

import Format
import Foundation
import Posix
import TestSupport
import TestVaults
import Testing

@testable import Vault

/// The journal from before a vault became a synchronised one.
@Suite struct EarlierJournalTests {
    private static let before = Array("before".utf8)
    private static let synced = Array("synced".utf8)

    /// The vault as a machine finds it after the way up.
    private func synchronised(_ test: TestVault) -> Vault {
        var traits = test.vault.traits
        traits.recordKind = .file
        return Vault(
            store: test.store, keys: test.vault.keys, ring: test.ring, traits: traits, isReadOnly: false,
            isPrivileged: test.vault.options.isPrivileged, machine: MachineTag([UInt8](1...8)))
    }

    private func contents(_ name: Name, _ vault: Vault, _ root: Directory) throws -> [UInt8] {
        try vault.openFile(name, in: root).contents(6)
    }

    /// It brings back what was synced before, and nothing in place of what a machine has written since. A machine that
    /// has a journal of its own does not look at it.
    @Test func isReplayedOnce() throws {
        let test = try TestVault()
        let names: [Name] = ["old", "new"]
        let files = try names.map { name in
            let file = try test.create(name)
            try file.write(Self.before, at: 0)
            return file
        }
        try test.vault.synchronize()
        let paths = try names.map { try test.path + "/\(test.vault.storedName($0, in: test.root).name)" }
        var saved = try paths.map { try Disk.read($0) }
        for file in files {
            try file.write(Self.synced, at: 0)
            try file.synchronize(dataOnly: false)
        }
        test.vault.abandon()
        let journal = try Disk.read(test.path + "/lk.journal")

        let bytes = saved[1]
        var header = try unsafe FileHeader(decoding: bytes.span.bytes)
        header.machine = 7
        saved[1].replaceSubrange(0..<FileHeader.byteCount, with: header.signed(by: test.vault.keys))
        func putBack() throws {
            for (path, bytes) in zip(paths, saved) { try Data(bytes).write(to: URL(filePath: path)) }
        }
        try putBack()
        let first = synchronised(test)
        var root = try first.openRoot()
        #expect(try contents("old", first, root) == Self.synced)
        #expect(try contents("new", first, root) == Self.before)
        #expect(try !test.backingNames.contains("lk.journal"))
        #expect(try test.backingNames.contains("lk.journal.0102030405060708"))
        try first.close()

        try putBack()
        try Data(journal).write(to: URL(filePath: test.path + "/lk.journal"))
        let second = synchronised(test)
        root = try second.openRoot()
        for name in names { #expect(try contents(name, second, root) == Self.before) }
        try second.removeEarlierJournal()
        #expect(try test.backingNames.contains("lk.journal"))
        #expect(!second.hasEarlierJournal)
        try second.close()
    }
}

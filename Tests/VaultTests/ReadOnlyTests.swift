import Format
import Posix
import Store
import TestStores
import Testing

@testable import Vault

@Suite struct ReadOnlyTests {
    /// Files that a crash in the middle of renames left are read where they are; a read-only mount mends nothing.
    @Test func aReadOnlyVaultIsNotTouched() throws {
        let test = try TestVault()
        let folder = try test.makeDirectory("folder")
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        try file.persistLength()
        let binding = test.vault.binding(of: "moved", in: test.root)
        try test.vault.beginMove(of: folder, to: binding)
        let stored = try test.vault.storedName("folder", in: test.root).name
        let moved = try test.vault.storedName("moved", in: test.root).name
        try test.store.rename(stored, in: test.store.root, to: moved, in: test.store.root)
        _ = try file.beginMove(
            to: test.vault.binding(of: "other", in: test.root), in: test.root.identifier, taking: nil,
            replacing: nil, isRename: true)

        let recording = FaultInjectingStore(test.store)
        recording.faults.fail(nil, with: .EROFS, lasts: true)
        let readOnly = Vault(
            store: recording, keys: test.vault.keys, ring: test.ring, traits: test.vault.traits, isReadOnly: true)
        let root = try readOnly.openRoot()
        #expect(try readOnly.openDirectory("moved", in: root).identifier == folder.identifier)
        #expect(try readOnly.openFile("file", in: root).contents(3) == [1, 2, 3])
        #expect(recording.faults.injected == 0, "a change was tried")
    }
}

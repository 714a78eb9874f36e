import Format
import Posix
import Store
import TestStores
import Testing

@testable import Vault

@Suite struct StoreTraitsTests {
    @Test func anOrdinaryFolderCanDoEverything() throws {
        let test = try TestVault()
        let before = try test.backingNames.sorted()
        let traits = try StoreTraits.probe(test.store)
        #expect(traits.nameMax == 255)
        #expect(traits.recordKind == .symbolicLink)
        #expect(traits.isCaseSensitive)
        #expect(try test.backingNames.sorted() == before, "probing leaves nothing behind")
    }

    @Test(arguments: [Posix.Errno.EPERM, .EOPNOTSUPP, .ENOSYS, .EIO, .ENOENT])
    func aStoreWithoutSymbolicLinksKeepsRecordsInFiles(
        errno: Posix.Errno
    ) throws {
        let test = try TestVault()
        let store = FaultInjectingStore(test.store)
        store.faults.fail(.makeSymbolicLink, with: errno, lasts: true)
        store.faults.fail(.setAttribute, with: .EOPNOTSUPP, lasts: true)
        let traits = try StoreTraits.probe(store)
        #expect(traits.recordKind == .file)
        #expect(!traits.hasAttributes)
    }

    @Test func aFullDiskIsNoTrait() throws {
        let test = try TestVault()
        let store = FaultInjectingStore(test.store)
        store.faults.fail(.makeSymbolicLink, with: .ENOSPC)
        #expect(throws: Posix.Errno.ENOSPC) { try StoreTraits.probe(store) }
    }

    @Test func aDirectoryIsPutBackWithoutSuchARename() throws {
        let test = try TestVault { InterceptingStore($0, hook: Replacing()) }
        _ = try test.makeDirectory("folder")
        _ = try test.vault.moveAside(try test.vault.storedName("folder", in: test.root), in: test.root, noting: true)
        let (vault, root) = try test.afterDeath()
        _ = try vault.openDirectory("folder", in: root)
    }
}

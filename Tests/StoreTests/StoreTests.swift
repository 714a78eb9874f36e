import Glibc
import Posix
import Store
import TestStores
import TestSupport
import Testing

@Suite struct StoreTests {
    let folder = try! TemporaryFolder()

    @Test func theFolderItselfDoesEveryCall() throws {
        try makeEveryCall(to: folder.store())
    }

    @Test func anInterceptedStoreDoesEveryCall() throws {
        let store = FaultInjectingStore(try folder.store())
        try makeEveryCall(to: store)
        for kind in Operation.Kind.allCases {
            #expect(store.faults.count(of: kind) > 0, "\(kind) was not seen")
        }
    }

    @Test func opensOnlyFolders() throws {
        #expect(throws: Posix.Errno.ENOENT) { try DirectoryStore(path: Path(folder.path + "/nothing")) }
        _ = try folder.store().make("file")
        #expect(throws: Posix.Errno.ENOTDIR) { try DirectoryStore(path: Path(folder.path + "/file")) }
    }

    @Test func twoStoresOfOneFolderExcludeEachOther() throws {
        let store = try folder.store()
        let lock = try store.make("lk.lock")
        try store.lockExclusively(lock)
        let second = try folder.store()
        #expect(throws: Posix.Errno.EWOULDBLOCK) {
            try second.lockExclusively(second.open("lk.lock", in: second.root, O_RDWR))
        }
    }
}

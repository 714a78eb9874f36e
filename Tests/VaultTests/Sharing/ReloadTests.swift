import Crypto
import Format
import Glibc
import Posix
import Sharing
import Store
import Synchronization
import TestStores
import TestSupport
import TestVaults
import Testing

@testable import Keybag
@testable import Vault

/// Two machines that have the same file open: what one does to it, the other one takes over with the lease.
@Suite struct ReloadTests {
    private let folder: TemporaryFolder
    private let one: Vault
    private let two: Vault
    private let first: File
    private let second: File
    private let object: LeaseObject
    private let paths = StalePaths()

    init() throws {
        try SecureHeap.initialize()
        let folder = try TemporaryFolder()
        self.folder = folder
        let bundle = try Bundle.generated()
        let volume = VolumeIdentifier([UInt8](1...16))
        let keys = try VolumeKeys(volumeKey: try bundle.volumeKey(), volume: volume)
        let ring = KeyRing(volume: volume, publicKey: try X25519.publicKey(of: try bundle.privateKeyB()))
        ring.install(try bundle.classKeys())
        var traits = StoreTraits.ofTests
        traits.recordKind = .file
        let store = try DirectoryStore(path: Path(folder.path))
        try Vault.makeRoot(
            in: store, keys: keys, traits: traits, defaultClass: .completeUntilFirstUserAuthentication)
        let hook = paths
        func vault(_ machine: UInt8, _ traits: StoreTraits) throws -> Vault {
            Vault(
                store: InterceptingStore(store, hook: hook), keys: keys, ring: ring, traits: traits,
                isReadOnly: false, journalSize: .smallest,
                machine: MachineTag([UInt8](repeating: machine, count: MachineTag.byteCount)), isShared: true)
        }
        one = try vault(1, traits)
        two = try vault(2, traits)
        let root = try one.openRoot()
        first = try one.createFile(
            "file", in: root, Ownership(mode: 0o644, user: getuid(), group: getgid()),
            .completeUntilFirstUserAuthentication)
        object = LeaseObject(fingerprint: first.identifier.firstHalf)
        try first.write([UInt8](repeating: 1, count: 5000), at: 0)
        try one.settle(object)
        second = try two.openFile("file", in: try two.openRoot())
        try second.loadKey()
    }

    private func end() {
        one.abandon()
        two.abandon()
    }

    @Test func whatWasSettledIsSeen() throws {
        defer { end() }
        #expect(try second.contents(9000) == [UInt8](repeating: 1, count: 5000))
        try second.write([2, 2], at: 4999)
        try two.settle(object)
        #expect(try first.contents(9000).count == 5000, "not yet")
        try one.reload(object)
        #expect(try first.contents(9000) == [UInt8](repeating: 1, count: 4999) + [2, 2])
        try first.truncate(to: 10)
        try one.settle(object)
        try two.reload(object)
        #expect(try second.contents(9000) == [UInt8](repeating: 1, count: 10))
    }

    /// Blocks that no header has counted are no contents, also if the file grows over them.
    @Test func whatADeadMachineHasLeftBehindTheEndIsNotSeen() throws {
        defer { end() }
        try second.write([UInt8](repeating: 9, count: 40_000), at: 5000)
        two.abandon()
        try one.reload(object)
        try first.truncate(to: 4 << 20)
        let found = try first.contents(60_000)
        #expect(found.prefix(5000) == [UInt8](repeating: 1, count: 5000)[...])
        #expect(found.dropFirst(5000).allSatisfy { $0 == 0 }, "the dead machine's bytes")
    }

    /// What waits for a checkpoint would be lost with the state.
    @Test func whatIsNotSettledIsNotDropped() throws {
        defer { end() }
        try first.write([3], at: 0)
        #expect(throws: VaultError.system(.EBUSY)) { try one.reload(object) }
    }

    /// The kernel of a machine does not see what another one has renamed.
    @Test(arguments: [false, true]) func whatWasRenamedWhileItIsOpenIsReplayed(isElsewhere: Bool) throws {
        defer { end() }
        let store = try DirectoryStore(path: Path(folder.path))
        let root = try two.openRoot()
        try two.makeDirectory("folder", in: root, Ownership(mode: 0o755, user: getuid(), group: getgid()))
        let inner = try store.open(
            try two.storedName("folder", in: root).name, in: store.root, O_RDONLY | O_DIRECTORY, mode: 0)
        let name = try two.storedName("file", in: root).name
        paths.keep()
        _ = try one.store.path(of: first.descriptor)
        try store.rename(
            name, in: store.root, to: try two.storedName("other", in: root).name,
            in: isElsewhere ? inner : store.root, flags: 0)
        try one.reload(object)
        try first.write([7, 7], at: 0)
        try first.synchronize(dataOnly: true)
        paths.release()
        one.abandon()
        try LeaseRelay(two, store).replay(MachineTag([UInt8](repeating: 1, count: MachineTag.byteCount)).machine) {}
        try two.reload(object)
        #expect(try second.contents(3) == [7, 7, 1])
    }
}

/// Gives the path that a file had first.
private final class StalePaths: Interceptor {
    private let path = Mutex<(isKept: Bool, bytes: [UInt8]?)>((false, nil))

    func keep() { path.withLock { $0 = (true, nil) } }
    func release() { path.withLock { $0 = (false, nil) } }

    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Posix.Errno) -> Result
    ) throws(Posix.Errno) -> Result {
        guard Result.self == [UInt8].self, case .inspect(.status) = operation else { return try proceed() }
        if let kept = path.withLock({ $0.bytes }) { return kept as! Result }
        let found = try proceed()
        path.withLock { if $0.isKept { $0.bytes = (found as! [UInt8]) } }
        return found
    }
}

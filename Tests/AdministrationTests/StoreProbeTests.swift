import Administration
import Posix
import Store
import TestStores
import TestSupport
import Testing

/// What a probe finds out of a folder, with calls that fail.
@Suite struct StoreProbeTests {
    let folder: TemporaryFolder
    let base: DirectoryStore
    let store: FaultInjectingStore

    init() throws {
        // In memory: the probe flushes, which is not what is tested here.
        folder = try TemporaryFolder(in: Environment.memory)
        base = try DirectoryStore(path: Path(folder.path))
        store = FaultInjectingStore(base)
    }

    private func facts(_ extent: StoreProbe.Extent = .all, writes: Bool = true) -> StoreFacts {
        let facts = StoreProbe.facts(of: store, kind: StoreKind(name: "ceph"), extent, writes: writes)
        #expect(Disk.tree(folder.path).isEmpty, "a probe leaves nothing behind")
        return facts
    }

    @Test func `an ordinary folder can do what a vault needs`() {
        let facts = facts()
        for feature in [
            .inodeOfOpenFile, .inodeAfterRename, .inodeAfterReopening, .exclusiveCreate, .renameOver, .hardLinks,
            .inodeOfHardLinks, .symbolicLinks, .symbolicLinkRenameOver, .listing, .renameOpenFile,
            .openFileAfterReplacement, .caseSensitive, .randomWrites, .syncFile, .syncFolder, .readAfterUnlink,
            .setTimes, .flock, .descriptionLocks,
        ] as [StoreFeature] { #expect(facts[feature] == .yes, "\(feature)") }
        #expect(facts[.nameBytes] == .number(255))
        #expect(facts.refusal() == nil && !facts.isReadOnly)
        // The decisive ones are the same, and the others stay open.
        let decisive = self.facts(.decisive)
        #expect(
            decisive[.renameOver] == .yes && decisive[.randomWrites] == .yes && decisive[.namelessFiles] == .unknown)
    }

    /// Calls that a store refuses, and the features that it lacks for it.
    private static let refusals: [(Operation.Kind, Errno, [StoreFeature])] = [
        (.makeSymbolicLink, .EIO, [.symbolicLinks]), (.link, .EPERM, [.hardLinks]),
        (.setAttribute, .EOPNOTSUPP, [.userAttributes]), (.setTimes, .EPERM, [.setTimes]),
        (.synchronize, .EINVAL, [.syncFile, .syncFolder]), (.lockExclusively, .EOPNOTSUPP, [.flock]),
    ]

    @Test(arguments: refusals.indices) func `a call that fails is a feature that is missing`(_ index: Int) {
        let (kind, errno, features) = Self.refusals[index]
        store.faults.fail(kind, with: errno, lasts: true)
        let facts = facts()
        for feature in features { #expect(facts[feature] == StoreFact(.no, errno), "\(feature)") }
        let expected = StoreFeature.allCases.filter { facts[$0].answer == .no && !features.contains($0) }
        // What the folder of the test does not have itself.
        #expect(Set(expected).isSubset(of: [.namelessFiles, .holes, .seekHole, .punchHole, .userAttributes]))
    }

    @Test func `a rename that fails makes everything unknown that needs one`() {
        store.faults.fail(.rename, with: .EIO, lasts: true)
        let facts = facts()
        #expect(facts[.renameOver] == StoreFact(.no, .EIO) && facts[.renameOpenFile] == StoreFact(.no, .EIO))
        #expect(facts[.inodeAfterRename] == StoreFact(.unknown, .EIO))
        #expect(facts.refusal()?.problem == .noRenameOver)
    }

    @Test func `a full disk is unknown, not unable`() {
        store.faults.fail(.write, with: .ENOSPC, lasts: true)
        let facts = facts()
        #expect(facts[.randomWrites] == StoreFact(.unknown, .ENOSPC) && facts[.syncFile].errno == .ENOSPC)
        #expect(facts.refusal() == nil)
    }

    @Test func `nothing is written where nothing may be`() {
        let facts = facts(writes: false)
        #expect(facts.isReadOnly && facts[.renameOver] == StoreFact(.unknown, .EROFS))
        #expect(store.faults.count(of: .makeDirectory) == 0)
        #expect(facts.findings.map(\.problem) == [.readOnly])
    }

    /// Every call in turn: the probe ends, and leaves nothing that could be removed.
    @Test(arguments: [Errno.EIO, .ENOSPC]) func `any call may fail`(_ errno: Errno) {
        var (nth, isDone) = (1, false)
        while !isDone, nth < 400 {
            let store = FaultInjectingStore(base)
            store.faults.fail(.all, nth: nth, with: errno)
            _ = StoreProbe.facts(of: store, kind: StoreKind(name: "ceph"), .decisive)
            isDone = store.faults.failed.isEmpty
            #expect(Disk.tree(folder.path).isEmpty, "call \(nth)")
            nth += 1
        }
        #expect(isDone && nth > 40)
    }
}

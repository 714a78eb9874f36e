import Failure
import Posix
import Testing

@testable import Administration

/// What follows from the facts about a store.
@Suite struct StoreFindingTests {
    /// A network store of a known kind that can do everything.
    private static func able(_ name: String = "ceph") -> StoreFacts {
        var facts = StoreFacts(StoreKind(name: name))
        for feature in StoreFeature.allCases where !feature.isKnownOfKind { facts[feature] = .yes }
        facts[.nameBytes] = .number(255)
        facts[.attributeBytes] = .number(65_536)
        facts[.timeGrain] = .number(1)
        return facts
    }

    /// The findings of each feature that is missing alone.
    private static let missing: [(StoreFeature, [StoreFinding.Problem], StoreFinding.Severity?)] = [
        (.listing, [.noListing], .losesData), (.renameOpenFile, [.noRenameOfOpenFiles], .losesData),
        (.openFileAfterReplacement, [.mixedFiles], .losesData), (.symbolicLinkRenameOver, [.staleLinks], .losesData),
        (.inodeOfOpenFile, [.changingInodes], .losesData), (.inodeAfterRename, [.changingInodes], .losesData),
        (.inodeAfterReopening, [.passingInodes], .note), (.exclusiveCreate, [.noExclusiveCreate], .losesData),
        (.renameOver, [.noRenameOver], .losesData), (.hardLinks, [.noHardLinks], .promiseDoesNotHold),
        (.inodeOfHardLinks, [.unlikeHardLinks], .promiseDoesNotHold),
        (.symbolicLinks, [.noSymbolicLinks], .promiseDoesNotHold), (.caseSensitive, [.caseInsensitive], .losesData),
        (.randomWrites, [.noRandomWrites], .losesData), (.syncFile, [.noSyncOfFiles], .losesData),
        (.syncFolder, [.noSyncOfFolders], .losesData), (.readAfterUnlink, [.noReadAfterUnlink], .promiseDoesNotHold),
        (.namelessFiles, [], nil), (.holes, [.noHoles], .note), (.seekHole, [], nil), (.punchHole, [.noHoles], .note),
        (.userAttributes, [.noAttributes], .note), (.setTimes, [.noSetTimes], .promiseDoesNotHold),
        (.flock, [.noFlock], .losesData), (.descriptionLocks, [], nil),
        (.sharedLocks, [.noSharedLocks], .promiseDoesNotHold), (.lastingInodes, [.passingInodes], .note),
        (.syncReachesStore, [.syncStaysHere], .promiseDoesNotHold), (.lasting, [.volatile], .note),
    ]

    @Test func `every feature that is yes or no is in the table`() {
        let numbers: Set<StoreFeature> = [.nameBytes, .attributeBytes, .timeGrain, .cacheSeconds]
        #expect(Set(Self.missing.map(\.0)).union(numbers) == Set(StoreFeature.allCases))
    }

    @Test func `a store that can do everything has no findings`() { #expect(Self.able().findings.isEmpty) }

    @Test(arguments: missing.indices) func `a feature that is missing has its finding`(_ index: Int) {
        let (feature, problems, severity) = Self.missing[index]
        var facts = Self.able()
        facts[feature] = StoreFact(.no, .EOPNOTSUPP)
        let findings = facts.findings
        #expect(findings.map(\.problem) == problems && findings.first?.severity == severity)
        #expect((facts.refusal() != nil) == (severity == .losesData))
        let isFinal = [.caseSensitive, .listing, .renameOpenFile].contains(feature)
        #expect((facts.refusal(accepted: true) != nil) == isFinal)
        #expect(facts.warnings.isEmpty == (severity == .note || severity == nil))
        facts[feature] = .unknown
        let expected: [StoreFinding.Problem] = feature == .sharedLocks ? [.unknownKind] : []
        #expect(facts.findings.map(\.problem) == expected, "what is unknown is no finding")
    }

    @Test func `numbers are findings below or above their limits`() {
        for (feature, fine, bad, problem) in [
            (StoreFeature.nameBytes, 56, 55, StoreFinding.Problem.shortNames),
            (.attributeBytes, 65_536, 65_535, .smallAttributes),
            (.timeGrain, 2_000_000_000, 3_000_000_000, .coarseTimes),
            (.cacheSeconds, 0, 1, .cached),
        ] as [(StoreFeature, Int64, Int64, StoreFinding.Problem)] {
            var facts = Self.able()
            facts[feature] = .number(fine)
            #expect(facts.findings.isEmpty, "\(feature)")
            facts[feature] = .number(bad)
            #expect(facts.findings == [StoreFinding(problem, number: bad)], "\(feature)")
        }
    }

    @Test func `the worst comes first, and a refusal names it`() {
        var facts = Self.able("fuse.sshfs")
        facts[.userAttributes] = StoreFact(.no, .ENOTSUP)
        facts[.caseSensitive] = .no
        facts[.renameOver] = StoreFact(.no, .EIO)
        #expect(facts.findings.map(\.severity) == facts.findings.map(\.severity).sorted())
        #expect(facts.refusal()?.problem == .noRenameOver)
        #expect(facts.refusal(accepted: true)?.problem == .caseInsensitive)
        #expect(throws: Failure.riskyStore(store: "sshfs", reason: facts.findings[0].sentence, isFinal: false)) {
            try facts.refuse(unless: false)
        }
    }

    @Test func `each finding is one sentence`() {
        for problem in StoreFinding.Problem.allCases {
            let sentence = StoreFinding(problem, .EIO, number: 3).sentence
            #expect(!sentence.isEmpty && !sentence.hasSuffix(".") && sentence.first?.isLowercase == true)
        }
    }

    @Test func `what is known of a kind`() {
        for (name, source, engine, locks) in [
            ("fuse.sshfs", "host:/", "sshfs", StoreFact.no), ("fuse", "mfs#10.0.0.1:9421/", "moosefs", .yes),
            ("fuse", "https://host/dav", "davfs2", .no), ("fuse.glusterfs", "host:/v", "glusterfs", .yes),
            ("ext4", "/dev/sda1", "ext4", .yes), ("fuse.never-heard-of", "", "never-heard-of", .unknown),
            ("fuse", "", "fuse", .unknown),
        ] as [(String, Path, String, StoreFact)] {
            let kind = StoreKind(name: name, source: source)
            #expect(kind.engine == engine && StoreFacts(kind)[.sharedLocks] == locks, "\(name)")
        }
        #expect(StoreFacts(StoreKind(name: "tmpfs")).findings.map(\.problem) == [.volatile])
        #expect(StoreKind(name: "tmpfs").isComplete && !StoreKind(name: "vfat").isComplete)
        #expect(StoreFacts(StoreKind(name: "fuse.unheard")).findings.map(\.problem) == [.unknownKind])
    }

    @Test func `a passing state says nothing of a store`() {
        for error in [Errno.ENOSPC, .EDQUOT, .ENOTCONN, .ESTALE] {
            #expect(StoreFact(refused: error) == StoreFact(.unknown, error))
        }
        for error in [Errno.EIO, .ENOSYS, .EOPNOTSUPP, .EPERM] {
            #expect(StoreFact(refused: error) == StoreFact(.no, error))
        }
    }

    @Test func `the grain of times is what is left of them`() {
        for (seconds, nanoseconds, grain) in [
            (1, 123_456_789, 1), (1, 123_456_700, 100), (1, 123_000_000, 1_000_000), (1, 0, 1_000_000_000),
            (0, 0, 2_000_000_000),
        ] as [(Int64, Int64, Int64)] {
            #expect(StoreProbe.grain(of: Timespec(seconds: seconds, nanoseconds: nanoseconds)) == grain)
        }
    }
}

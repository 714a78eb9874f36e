import Format
import Testing

@testable import Claims

/// What the last claim means, over all that a process can know of it.
@Suite struct ClaimRuleTests {
    struct Case: Hashable {
        var state: ClaimRecord.State
        var renews: Bool
        var relation: ClaimRelation
        var surroundings: ClaimSurroundings

        var verdict: ClaimRule { ClaimRule(Self.record(state, renews), isWhole: true, relation, in: surroundings) }

        static func record(_ state: ClaimRecord.State, _ renews: Bool) -> ClaimRecord {
            let bytes = [UInt8](repeating: 1, count: 16)
            return ClaimRecord(
                state: state, renews: renews, lease: 15_000, epoch: 1, machine: bytes, boot: bytes, daemon: bytes,
                process: .init(namespace: 1, identifier: 2, started: 3))
        }

        /// All that can be: the same boot is on the same machine, and a process is known only there.
        static let all: [Case] = {
            let truths = [false, true]
            var all: [Case] = []
            for state in [ClaimRecord.State.taking, .held, .released] {
                for (renews, isLocal) in truths.flatMap({ renews in truths.map { (renews, $0) } }) {
                    for (hasLock, isSameFolder) in truths.flatMap({ lock in truths.map { (lock, $0) } }) {
                        for (isSameMachine, isSameBoot) in [(false, false), (true, false), (true, true)] {
                            for process in ClaimRelation.Process.allCases {
                                guard isSameBoot || (process == .unknown && !isSameFolder) else { continue }
                                all.append(
                                    Case(
                                        state: state, renews: renews,
                                        relation: ClaimRelation(
                                            isSameMachine: isSameMachine, isSameFolder: isSameFolder,
                                            isSameBoot: isSameBoot, process: process),
                                        surroundings: ClaimSurroundings(isLocal: isLocal, hasLock: hasLock)))
                            }
                        }
                    }
                }
            }
            return all
        }()
    }

    @Test func theCasesAreMany() { #expect(Case.all.count == 3 * 8 * 8) }

    @Test func whatIsReleasedIsFree() {
        for one in Case.all where one.state == .released { #expect(one.verdict == .free, "\(one)") }
    }

    /// Nothing is free at once that a process elsewhere may still hold.
    @Test func whatMayLiveElsewhereIsWatched() {
        for one in Case.all where one.state == .held && one.relation.process == .unknown {
            let isKnown =
                one.surroundings.isLocal && one.surroundings.hasLock && !one.renews && one.relation.isSameMachine
            #expect(one.verdict == (isKnown ? .free : .watch), "\(one)")
        }
    }

    /// The lease of the claim before a *taking* one may not be over.
    @Test func whatWasBeingTakenIsNeverFree() {
        for one in Case.all where one.state == .taking { #expect(one.verdict != .free, "\(one)") }
    }

    @Test func aProcessThatLivesInThisFolderHasIt() {
        for one in Case.all where one.state == .held && one.relation.process == .alive {
            // With the lock too: its file may have been removed.
            guard one.relation.isSameFolder || !(one.surroundings.isLocal || one.surroundings.hasLock) else { continue }
            #expect(one.verdict == .inUse, "\(one)")
        }
    }

    /// A machine that comes up again after a crash mounts its own disk without a wait.
    @Test func aLocalVaultAfterACrash() {
        let relation = ClaimRelation(isSameMachine: true, isSameFolder: false, isSameBoot: false, process: .unknown)
        let surroundings = ClaimSurroundings(isLocal: true, hasLock: true)
        #expect(Case(state: .held, renews: false, relation: relation, surroundings: surroundings).verdict == .free)
    }

    @Test func whatCannotBeReadIsWatched() {
        let relation = ClaimRelation(isSameMachine: false, isSameFolder: false, isSameBoot: false, process: .unknown)
        for isWhole in [false, true] {
            for (isLocal, hasLock) in [(false, false), (false, true), (true, false), (true, true)] {
                let surroundings = ClaimSurroundings(isLocal: isLocal, hasLock: hasLock)
                // A crash on this machine's own disk leaves a file without its bytes.
                #expect(
                    ClaimRule(nil, isWhole: isWhole, relation, in: surroundings)
                        == (!isWhole && isLocal && hasLock ? .free : .watch))
            }
        }
    }
}

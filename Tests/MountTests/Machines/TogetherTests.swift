import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Machines that have one vault mounted at the same time, in one folder whose locks they all see.
    /// `tools/together` does it at random, on real stores.
    @Suite(.serialized) struct Together {
        private func play(_ scene: String) throws {
            guard geteuid() == 0 else {
                Issue.record("NOT TESTED: machines that work together: they need root")
                return
            }
            let folder = try TemporaryFolder()
            let here = URL(filePath: #filePath).deletingLastPathComponent()
            let storing = here.appending(path: "../../../tools/storing").standardized.path
            let words = [here.appending(path: "together.py").path, storing, Built.latchkey, folder.path, scene]
            try run("unshare", ["--mount", "--net", "--propagation", "private", "python3", "-B"] + words)
        }

        @Test func whatOneWritesTheOtherReads() throws { try play("sees") }

        @Test func namesAreTheSameEverywhere() throws { try play("names") }

        @Test func appendsFollowEachOther() throws { try play("appends") }

        @Test func locksOfProgramsHold() throws { try play("locks") }

        @Test func whatIsGoneNeedsNoLease() throws { try play("gone") }

        @Test func aMachineThatDies() throws { try play("dies") }

        @Test func aMachineThatReturnsBeforeItIsMissed() throws { try play("returns") }

        @Test func aStoreWhoseLocksDoNotCrossMachines() throws { try play("blind") }

        @Test func aLockIsOfOneMachine() throws { try play("locked") }

        @Test func aloneOrTogether() throws { try play("alone") }

        @Test func keysStayAsTheyAre() throws { try play("keys") }
    }
}

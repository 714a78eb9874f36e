import Foundation
import Glibc
import Posix
import TestStores
import Testing

@testable import Vault

/// ENOSPC, EDQUOT and EIO from the backing store, at each call that a change makes in turn: the caller is told, what was
/// there is unharmed, and either all of the change is there or nothing; now, for the next daemon, and for fsck.
///
/// LATCHKEY_FAULTS=all tries each call with each error; else a few of them at one call of each change.
@Suite struct AnyCallTests {
    static let triesAll = ProcessInfo.processInfo.environment["LATCHKEY_FAULTS"] == "all"

    /// What fails: the nth call, and what comes later.
    struct Fault: Sendable, CustomTestStringConvertible {
        let errno: Posix.Errno
        let lasts: Bool

        var testDescription: String { errno.name + (lasts ? " from then on" : " once") }

        static let all = [Posix.Errno.ENOSPC, .EDQUOT, .EIO].flatMap { errno in
            [false, true].map { Fault(errno: errno, lasts: $0) }
        }

        /// A full disk refuses no read, and keeps what it has.
        var calls: FaultPlan.Calls { errno == .EIO ? .all : .changes }
        var later: FaultPlan.Calls? { lasts ? (errno == .EIO ? .changes : .growth) : nil }
    }

    @Test(arguments: FaultAct.all, [true, false]) func atEachCall(_ act: FaultAct, isPrivileged: Bool) throws {
        let expected = try Expected(act, isPrivileged)
        var hits = 0
        for (index, fault) in Fault.all.enumerated() {
            for nth in 1...expected.calls where isChosen(nth, of: expected.calls, index, isPrivileged) {
                for isKilled in Self.triesAll ? [false, true] : [nth % 2 == 0] {
                    let run = FaultRun(act: act, fault: fault, nth: nth, isKilled: isKilled, isPrivileged: isPrivileged)
                    hits += try run.run(expected) ? 1 : 0
                }
            }
        }
        #expect(hits > 0)
    }

    /// As a rule four of the errors at one call each; for an ordinary user, whose calls are nearly the same, one of them.
    private func isChosen(_ nth: Int, of calls: Int, _ index: Int, _ isPrivileged: Bool) -> Bool {
        if Self.triesAll { return true }
        let fault = Fault.all[index]
        if isPrivileged {
            guard fault.errno == .EIO || fault.lasts == (fault.errno == .ENOSPC) else { return false }
        } else {
            guard fault.errno == .EIO && !fault.lasts else { return false }
        }
        // A full disk counts the calls that change something: fewer.
        let count = fault.errno == .EIO ? calls : max(1, calls / 2)
        return nth == 1 + (calls * 7 + index * count / Fault.all.count) % count
    }

    /// The tree before the act and after it, and how many calls it makes.
    struct Expected {
        let old: TreeImage
        let new: TreeImage
        let calls: Int

        init(_ act: FaultAct, _ isPrivileged: Bool) throws {
            let scene = try FaultScene(isPrivileged: isPrivileged)
            let act = try act.prepare(scene)
            old = try TreeImage(scene.vault, scene.root)
            let before = Self.count(scene)
            try act()
            calls = Self.count(scene) - before
            new = try TreeImage(scene.vault, scene.root)
        }

        private static func count(_ scene: FaultScene) -> Int {
            Operation.Kind.allCases.reduce(0) { $0 + scene.faults.count(of: $1) }
        }
    }
}

import Foundation
import Glibc
import Posix
import TestStores
import Testing

@testable import Vault

/// The backing store fails with ENOSPC, EDQUOT or EIO at each call of a change in turn. The caller gets an error, what
/// was there is unharmed, and the change is complete or absent: at once, in the next daemon, and for fsck.
///
/// LATCHKEY_FAULTS=all tries each call with each error; otherwise a few errors are tried at one call of each change.
@Suite struct AnyCallTests {
    static let triesAll = ProcessInfo.processInfo.environment["LATCHKEY_FAULTS"] == "all"

    /// What fails: the nth call, and perhaps later ones.
    struct Fault: Sendable, CustomTestStringConvertible {
        let errno: Posix.Errno
        let lasts: Bool

        var testDescription: String { errno.name + (lasts ? " from then on" : " once") }

        static let all = [Posix.Errno.ENOSPC, .EDQUOT, .EIO].flatMap { errno in
            [false, true].map { Fault(errno: errno, lasts: $0) }
        }

        /// A full disk refuses no read, and keeps its contents.
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

    /// By default four of the errors at one call each; one for an ordinary user, whose calls are nearly the same.
    private func isChosen(_ nth: Int, of calls: Int, _ index: Int, _ isPrivileged: Bool) -> Bool {
        if Self.triesAll { return true }
        let fault = Fault.all[index]
        if isPrivileged {
            guard fault.errno == .EIO || fault.lasts == (fault.errno == .ENOSPC) else { return false }
        } else {
            guard fault.errno == .EIO && !fault.lasts else { return false }
        }
        // A full disk fails only calls that change something: there are fewer of those.
        let count = fault.errno == .EIO ? calls : max(1, calls / 2)
        return nth == 1 + (calls * 7 + index * count / Fault.all.count) % count
    }

    /// The tree before the act and after it, and the number of calls that the act makes.
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

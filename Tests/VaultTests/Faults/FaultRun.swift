import Format
import Posix
import TestStores
import Testing

@testable import Vault
@testable import VaultCheck

/// One change in which one call fails, and all checks afterwards.
struct FaultRun: CustomStringConvertible {
    let act: FaultAct
    let fault: AnyCallTests.Fault
    let nth: Int
    /// The daemon is killed at the end, not stopped.
    let isKilled: Bool
    let isPrivileged: Bool

    var description: String {
        "\(act.name): call \(nth), \(fault.testDescription)\(isPrivileged ? "" : ", ordinary user")"
    }

    /// False if the change makes fewer calls than that.
    func run(_ expected: AnyCallTests.Expected) throws -> Bool {
        let scene = try FaultScene(isPrivileged: isPrivileged)
        let act = try self.act.prepare(scene)
        scene.faults.fail(fault.calls, nth: nth, with: fault.errno, then: fault.later)
        var failure: (any Error)?
        do { try act() } catch { failure = error }
        scene.faults.clear()
        let failed = scene.faults.failed
        guard let first = failed.first else {
            #expect(failure == nil, "\(self)")
            return false
        }
        // A file that is not checkpointed may show another time.
        let hasTimes = !failed.contains(.setTimes)
        let what = "\(self) (\(failed))"
        if let failure {
            let errno = (failure as? VaultError)?.errno
            #expect(errno == fault.errno, "\(what): \(failure)")
        } else {
            #expect(BestEffort.reason(for: first, in: self.act) != nil, "\(what): no error was reported")
        }
        // The state that a kill leaves here, and the state in which the vault goes on.
        let look = Look(act: self.act, what: what, failure: failure, failed: failed, expected: expected)
        look.image(scene.test.next(isReadOnly: true), "found by fsck", hasTimes: hasTimes)
        expectSound(scene, what)
        look.image(scene.vault, "seen at once")
        try goOn(scene, what)
        let live = look.image(scene.vault, "seen after more work", hasTimes: hasTimes || !isKilled)
        if isKilled {
            scene.vault.abandon()
        } else {
            do { try scene.vault.close() } catch {
                // A flush that has failed is reported at the end too.
                #expect(hasFailedFlush(failed), "\(what): the end says \(error)")
            }
        }
        let next = scene.test.next(isReadOnly: false, journalSize: .smallest)
        if let live, let found = look.image(next, "found by the next daemon", hasTimes: hasTimes || !isKilled) {
            let isHalfDone = self.act.halfDone != nil && failed.count > 1
            // A refused change may not be on disk yet, and is then lost with the daemon.
            let isLost = isKilled && failure != nil
            if !hasFailedFlush(failed), !isHalfDone, !isLost, let difference = found.difference(from: live, live) {
                Issue.record("\(what): what the next daemon finds is \(difference)")
            }
        }
        next.abandon()
        expectSound(scene, what)
        return true
    }

    /// After these failures the contents of the disk are unknown: docs/DURABILITY.md, "When a flush fails".
    private func hasFailedFlush(_ failed: [Operation.Kind]) -> Bool {
        failed.contains(.synchronize) || failed.contains(.synchronizeAll)
            || (fault.errno == .EIO && failed.contains(.write))
    }

    /// Other files can be made, written to, synced and renamed, unless no flush proves anything any more.
    private func goOn(_ scene: FaultScene, _ what: String) throws {
        do {
            let file = try scene.test.create("later")
            try scene.using(file) {
                try $0.write(FaultScene.bytes(5000, 50), at: 0)
                try $0.synchronize(dataOnly: false)
                try $0.write([1], at: 5)
            }
            try scene.rename("later", to: "latest", into: scene.folder)
            #expect(try scene.vault.openFile("latest", in: scene.folder).contents(6).last == 1, "\(what)")
            try scene.vault.unlink("latest", in: scene.folder)
        } catch {
            try? scene.vault.unlink("later", in: scene.root)
            try? scene.vault.unlink("latest", in: scene.folder)
            #expect(hasFailedFlush(scene.faults.failed), "\(what): afterwards \(error)")
        }
    }

    /// A check finds only what docs/FSCK.md calls orphans, and that a session has not ended.
    private func expectSound(_ scene: FaultScene, _ what: String) {
        let found = Findings()
        do {
            try Check(of: scene.test.next(isReadOnly: true), contents: true, threads: 1) { found.add($0) }.run()
        } catch { Issue.record("\(what): the check says \(error)") }
        for finding in found.all {
            switch (finding.severity, finding.kind) {
            case (.orphan, .temporary), (.orphan, .sidecar), (.orphan, .record), (.note, .journal): continue
            default: Issue.record("\(what): the check finds \(Found(finding)), \(finding.reason)")
            }
        }
    }
}

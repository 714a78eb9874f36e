import Format
import Glibc
import Posix
import Store
import Synchronization
import TestStores
import TestSupport
import Testing

@testable import Claims

/// The claims of a folder, taken by this process.
@Suite struct ClaimTakingTests {
    private let folder: TemporaryFolder
    private let store: DirectoryStore

    init() throws {
        folder = try TemporaryFolder()
        store = try DirectoryStore(path: Path(folder.path))
    }

    /// A short lease: nothing else runs here that could be late.
    private func plan(refused: Bool = false, readOnly: Bool = false) -> VaultClaim.Plan {
        var plan = VaultClaim.Plan(isLocal: false, hasLock: !refused)
        plan.isLockRefused = refused
        plan.isReadOnly = readOnly
        plan.lease = .milliseconds(100)
        return plan
    }

    private func take(
        _ plan: VaultClaim.Plan, giveUp: Bool = false, takingOver: Bool = false, waited: inout Int,
        lost: @escaping @Sendable () -> Void = {}
    ) throws -> VaultClaim? {
        let count = Counter()
        var plan = plan
        plan.takesOver = takingOver
        defer { waited = count.value }
        return try VaultClaim.take(
            store, plan, waiting: { _, _ in count.value += 1 },
            pause: { time in
                usleep(UInt32(time / .microseconds(1)))
                return !giveUp
            }, lost: lost)
    }

    /// Whether a change is allowed before long: a busy machine may be late for such a short lease.
    private func opens(_ fence: any Fence) -> Bool {
        // A check that fails at once leaves the keeper no time to look.
        for _ in 0..<20_000 {
            if (try? fence.check()) != nil { return true }
            usleep(1000)
        }
        return false
    }

    private final class Counter { var value = 0 }

    /// A claim of another machine, which nothing renews.
    private func plant(_ state: ClaimRecord.State, epoch: UInt64) throws {
        let strange = [UInt8](repeating: 7, count: 16)
        let record = ClaimRecord(
            state: state, renews: true, lease: 100, epoch: epoch, machine: strange, boot: strange, daemon: strange,
            process: .init(namespace: 1, identifier: 1, started: 1))
        try ClaimFolder(in: store).make(record)
    }

    @Test func oneAfterAnother() throws {
        var waited = 0
        for epoch: UInt64 in 1...20 {
            let claim = try #require(try take(plan(), waited: &waited))
            #expect(claim.epoch == epoch && !claim.tookOver && waited == 0)
            // This process has it, and lives.
            #expect(throws: ClaimError.self) { _ = try take(plan(), waited: &waited) }
            #expect(throws: ClaimError.self) { _ = try take(plan(readOnly: true), waited: &waited) }
            #expect(opens(claim.fence))
            claim.release()
        }
        #expect(try ClaimFolder(in: store).epochs().count == 9)
    }

    @Test func aSilentOneIsTakenOver() throws {
        var waited = 0
        try plant(.held, epoch: 5)
        #expect(throws: ClaimError.givenUp) { _ = try take(plan(), giveUp: true, waited: &waited) }
        #expect(waited == 1)
        let claim = try #require(try take(plan(), waited: &waited))
        #expect(claim.epoch == 6 && claim.tookOver && waited == 1)
        claim.release()
    }

    /// One that was being taken over when its machine died.
    @Test func oneThatWasBeingTakenIsWatched() throws {
        var waited = 0
        try plant(.taking, epoch: 5)
        let claim = try #require(try take(plan(), waited: &waited))
        #expect(claim.epoch == 6 && waited == 1)
        claim.release()
    }

    @Test func aReaderWaitsAndClaimsNothing() throws {
        var waited = 0
        #expect(try take(plan(readOnly: true), waited: &waited) == nil)
        try plant(.held, epoch: 5)
        #expect(try take(plan(readOnly: true), waited: &waited) == nil)
        #expect(try waited == 1 && ClaimFolder(in: store).epochs() == [5])
    }

    /// A lock of the store that no claim explains counts; one of a machine that is gone does not for ever.
    @Test func aLockThatIsRefused() throws {
        var waited = 0
        #expect(throws: ClaimError.locked) { _ = try take(plan(refused: true), waited: &waited) }
        #expect(throws: ClaimError.locked) { _ = try take(plan(refused: true, readOnly: true), waited: &waited) }
        try plant(.released, epoch: 5)
        #expect(throws: ClaimError.locked) { _ = try take(plan(refused: true), waited: &waited) }
        try plant(.held, epoch: 6)
        let claim = try #require(try take(plan(refused: true), waited: &waited))
        #expect(claim.epoch == 7 && waited == 1)
        claim.release()
    }

    /// The machine whose lock it is was taken over before; the one that did so has released its claim.
    @Test func aLockOfAMachineThatIsGone() throws {
        var waited = 0
        try plant(.held, epoch: 4)
        try plant(.released, epoch: 5)
        #expect(try take(plan(refused: true, readOnly: true), waited: &waited) == nil)
        let claim = try #require(try take(plan(refused: true), waited: &waited))
        #expect(claim.epoch == 6 && !claim.tookOver && waited == 0)
        claim.release()
        // However often the vault is used meanwhile, within bounds.
        for _ in 0..<20 { try #require(try take(plan(refused: true), waited: &waited)).release() }
        #expect(try ClaimFolder(in: store).epochs().contains(4))
        // One that cannot be read may be of such a machine, one that is damaged is of none.
        let hindrance = Hindrance()
        hindrance.reads.store(true, ordering: .relaxed)
        try ClaimFolder(in: InterceptingStore(store, hook: hindrance)).removeClaims(before: 40)
        #expect(try ClaimFolder(in: store).epochs().contains(4))
        try Disk.write([1], to: folder.path + "/lk.claims/lk.claim.0000000000000005")
        try ClaimFolder(in: store).removeClaims(before: 40)
        #expect(try ClaimFolder(in: store).epochs() == [4])
        try plant(.released, epoch: 300)
        try #require(try take(plan(), waited: &waited)).release()
        #expect(try ClaimFolder(in: store).epochs().min() == 300)
        // On a local disk the kernel gives no lock to a process that is gone.
        var local = VaultClaim.Plan(isLocal: true, hasLock: false)
        local.isLockRefused = true
        #expect(throws: ClaimError.locked) { _ = try take(local, waited: &waited) }
    }

    /// The next claim fences this one: changes fail, and the release leaves the other one alone.
    @Test func theNextClaimFences() throws {
        var waited = 0
        let wakeup = try Wakeup()
        let claim = try #require(try take(plan(), waited: &waited, lost: { wakeup.signal() }))
        let fenced = FencedStore(store, claim.fence)
        let file = try fenced.open("file", in: store.root, O_RDWR | O_CREAT, mode: 0o600)
        try plant(.held, epoch: 2)
        wakeup.wait()
        #expect(claim.isLost)
        for _ in 0..<2 {
            #expect(throws: Errno.EIO) { try fenced.truncate(file, to: 1) }
            #expect(throws: Errno.EIO) { try fenced.synchronize(file, dataOnly: true) }
            #expect(throws: Errno.EIO) { try fenced.unlink("file", in: store.root) }
            #expect(throws: Errno.EIO) { _ = try fenced.entries(of: store.root) }
        }
        claim.release()
        #expect(try ClaimFolder.record(ClaimFolder(in: store).bytes(of: 2), epoch: 2)?.state == .held)
    }

    /// A network store may list the folder as it was some seconds ago, and look up each name all the same.
    @Test func aListThatIsOld() throws {
        final class OldList: Interceptor {
            func intercept<Result>(
                _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
            ) throws(Errno) -> Result {
                let result = try proceed()
                guard case .inspect(.entries) = operation, let entries = result as? [DirectoryEntry] else {
                    return result
                }
                return entries.filter { $0.name != "lk.claim.0000000000000006" } as! Result
            }
        }
        var waited = 0
        try plant(.released, epoch: 5)
        try plant(.held, epoch: 6)
        let old = InterceptingStore(store, hook: OldList())
        #expect(try ClaimFacts(of: old)?.state == .held)
        let claim = try #require(
            try VaultClaim.take(
                old, plan(), waiting: { _, _ in waited += 1 },
                pause: { time in usleep(UInt32(time / .microseconds(1))) == 0 }, lost: {}))
        #expect(claim.epoch == 7 && claim.tookOver && waited == 1)
        claim.release()
    }

    /// With the lock too: its file may have been removed while the holder works.
    @Test func aRemovedLock() throws {
        var waited = 0
        var local = VaultClaim.Plan(isLocal: true, hasLock: true)
        let claim = try #require(try take(local, waited: &waited))
        #expect(throws: ClaimError.self) { _ = try take(local, waited: &waited) }
        local.isReadOnly = true
        #expect(throws: ClaimError.self) { _ = try take(local, waited: &waited) }
        claim.release()
    }

    /// Fails what a test says, for the claim of epoch 1.
    private final class Hindrance: Interceptor {
        let looks = Atomic(false)
        let reads = Atomic(false)
        let renewals = Atomic(false)
        let failures = Atomic(0)

        func intercept<Result>(
            _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
        ) throws(Errno) -> Result {
            switch operation {
            case .inspect(.read) where reads.load(ordering: .relaxed): throw .EIO
            case .inspect(.status) where looks.load(ordering: .relaxed): throw .EIO
            case .change(.write) where renewals.load(ordering: .relaxed):
                failures.add(1, ordering: .relaxed)
                throw .ENOSPC
            default: return try proceed()
            }
        }
    }

    /// While no look succeeds, changes wait for four leases together, or for two seconds of a lock.
    @Test(.timeLimit(.minutes(10))) func aStoreThatIsGone() throws {
        for isLocal in [true, false] {
            try run("rm", ["-rf", folder.path + "/lk.claims"])
            let hindrance = Hindrance()
            var plan = plan()
            plan.isLocal = isLocal
            let hindered = InterceptingStore(store, hook: hindrance)
            let claim = try #require(
                try VaultClaim.take(hindered, plan, waiting: { _, _ in }, pause: { _ in true }, lost: {}))
            #expect(opens(claim.fence))
            hindrance.looks.store(true, ordering: .relaxed)
            usleep(150_000)
            // Of another machine's store the wait is a minute.
            if !isLocal { claim.fence.beginHurry() }
            for _ in 0..<200 { #expect(throws: Errno.notAnswered) { try claim.fence.check() } }
            if !isLocal { claim.fence.endHurry() }
            hindrance.looks.store(false, ordering: .relaxed)
            #expect(opens(claim.fence))
            claim.release()
        }
    }

    /// A holder whose answer failed once answers with the next look: it must not be taken for dead.
    @Test func anAnswerThatFails() throws {
        let hindrance = Hindrance()
        // Of a local store: the claim is written anew only when another process asks.
        let claim = try #require(
            try VaultClaim.take(
                InterceptingStore(store, hook: hindrance), VaultClaim.Plan(isLocal: true, hasLock: true),
                waiting: { _, _ in }, pause: { _ in true }, lost: {}))
        let folder = try ClaimFolder(in: store)
        let before = try ClaimFolder.record(folder.bytes(of: 1), epoch: 1)?.renewals
        hindrance.renewals.store(true, ordering: .relaxed)
        try folder.ask()
        for _ in 0..<2000 where hindrance.failures.load(ordering: .relaxed) == 0 { usleep(10_000) }
        #expect(try hindrance.failures.load(ordering: .relaxed) > 0 && folder.isAsked())
        hindrance.renewals.store(false, ordering: .relaxed)
        for _ in 0..<2000 where try folder.isAsked() { usleep(10_000) }
        #expect(try !folder.isAsked())
        #expect(try ClaimFolder.record(folder.bytes(of: 1), epoch: 1)?.renewals != before)
        claim.release()
    }

    /// As on a full disk, where programs must be able to remove files.
    @Test func aClaimThatCannotBeRenewed() throws {
        let hindrance = Hindrance()
        let claim = try #require(
            try VaultClaim.take(
                InterceptingStore(store, hook: hindrance), plan(), waiting: { _, _ in }, pause: { _ in true }, lost: {})
        )
        hindrance.renewals.store(true, ordering: .relaxed)
        usleep(300_000)
        #expect(opens(claim.fence))
        // It is taken over as if its machine had died, and finds that out.
        var waited = 0
        let next = try #require(try take(plan(), takingOver: true, waited: &waited))
        for _ in 0..<500 where !claim.isLost { usleep(10_000) }
        #expect(claim.isLost)
        #expect(throws: Errno.EIO) { try claim.fence.check() }
        next.release()
    }

    /// The client of a network store may still know the name of a question that was removed elsewhere.
    @Test func aQuestionThatWasRemovedElsewhere() throws {
        final class StaleName: Interceptor {
            let isStale = Atomic(true)
            func intercept<Result>(
                _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
            ) throws(Errno) -> Result {
                switch operation {
                case .open("lk.claim.ask", _, _, _) where isStale.load(ordering: .relaxed): throw .ENOENT
                case .change(.unlink("lk.claim.ask", _)): isStale.store(false, ordering: .relaxed)
                default: break
                }
                return try proceed()
            }
        }
        try plant(.held, epoch: 5)
        let claim = try #require(
            try VaultClaim.take(
                InterceptingStore(store, hook: StaleName()), plan(), waiting: { _, _ in },
                pause: { time in usleep(UInt32(time / .microseconds(1))) == 0 }, lost: {}))
        #expect(claim.epoch == 6)
        claim.release()
    }

    /// Claims by a hostile hand end in an error, or count as claims of a holder that is not known.
    @Test func hostileClaims() throws {
        var waited = 0
        try plant(.held, epoch: ClaimRecord.largestEpoch)
        #expect(throws: ClaimError.damaged) { _ = try take(plan(), waited: &waited) }
        try run("rm", ["-r", folder.path + "/lk.claims"])
        try run("mkdir", ["-p", folder.path + "/elsewhere"])
        try run("ln", ["-s", "elsewhere", folder.path + "/lk.claims"])
        #expect(throws: ClaimError.self) { _ = try take(plan(), waited: &waited) }
        #expect(try run("ls", [folder.path + "/elsewhere"]).text.isEmpty)
        for node in ["mkfifo", "mkdir"] {
            try run("rm", ["-rf", folder.path + "/lk.claims"])
            try run("mkdir", [folder.path + "/lk.claims"])
            try run(node, [folder.path + "/lk.claims/lk.claim.0000000000000003"])
            let claim = try #require(try take(plan(), waited: &waited))
            #expect(claim.epoch == 4 && claim.tookOver && waited == 1)
            claim.release()
        }
        // What is no name of a claim does not count.
        try run("rm", ["-rf", folder.path + "/lk.claims"])
        try run("mkdir", [folder.path + "/lk.claims"])
        for name in [
            "0000000000000A03", "+000000000000003", "3", "ffffffffffffffffff", "-000000000000001", "ffffffffffffffff",
        ] {
            try run("touch", ["--", folder.path + "/lk.claims/lk.claim." + name])
        }
        let claim = try #require(try take(plan(), waited: &waited))
        #expect(claim.epoch == 1 && waited == 0)
        claim.release()
    }

    /// A process that was killed and that its parent has not waited for does not count as alive.
    @Test func aZombie() throws {
        let claimant = try Claimant(of: store.root)
        var record = claimant.record(
            .held, epoch: 1, times: ClaimTimes(lease: .seconds(1)), renews: false)
        let streams = try StreamFile()
        let child = try Child(
            "/bin/sleep", ["1000"], input: streams.descriptor, output: streams.descriptor, errors: streams.descriptor)
        let stat = String(
            decoding: try Descriptor.open(path: Path("/proc/\(child.pid)/stat"), O_RDONLY).bytes(atMost: 4096),
            as: UTF8.self)
        let fields = stat[stat.lastIndex(of: ")")!...].split(separator: " ")
        record.process.identifier = UInt64(child.pid)
        record.process.started = try #require(UInt64(fields[20]))
        #expect(claimant.relation(to: record).process == .alive)
        child.send(SIGKILL)
        let end = ContinuousClock.now + .seconds(10)
        while claimant.relation(to: record).process == .alive {
            try #require(ContinuousClock.now < end)
            usleep(1000)
        }
        #expect(claimant.relation(to: record).process == .ended)
        // It is still there.
        #expect(kill(child.pid, 0) == 0)
    }
}

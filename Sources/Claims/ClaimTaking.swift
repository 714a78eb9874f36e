import Format
import Posix
import Store

/// Takes the claim on a vault: at once where the rule allows it, else after the holder was silent for long enough.
struct ClaimTaking {
    private let folder: ClaimFolder
    private let claimant: Claimant
    private let plan: VaultClaim.Plan
    private let times: ClaimTimes
    private let waiting: (ClaimHolder, Duration) -> Void
    private let pause: (Duration) -> Bool

    /// Attempts while other processes are faster.
    private static let attempts = 16

    /// Nil if the vault is only read, and was never claimed.
    init?(
        _ store: any Store, _ plan: VaultClaim.Plan, waiting: @escaping (ClaimHolder, Duration) -> Void,
        pause: @escaping (Duration) -> Bool
    ) throws(ClaimError) {
        do throws(Errno) {
            if plan.isReadOnly {
                guard let folder = try ClaimFolder(readingIn: store) else { return nil }
                self.folder = folder
            } else {
                folder = try ClaimFolder(in: store)
            }
            claimant = try Claimant(of: store.root)
        } catch { throw .system(error) }
        self.plan = plan
        self.waiting = waiting
        self.pause = pause
        times = plan.lease.map { ClaimTimes(lease: $0) } ?? .usual
    }

    private var renews: Bool { !plan.isLocal || plan.lease != nil }

    func run(lost: @escaping @Sendable () -> Void) throws(ClaimError) -> VaultClaim? {
        for _ in 0..<Self.attempts {
            let last = try newest()
            guard last.epoch < ClaimRecord.largestEpoch else { throw .damaged }
            let next = last.epoch + 1
            if plan.isShared, let claim = try join(last, lost: lost) { return claim }
            let isNamed = last.epoch == 0
            switch isNamed || plan.takesOver ? .free : rule(last) {
            case .inUse: throw .inUse(holder(last))
            case .free:
                if plan.isLockRefused, !plan.takesOver, try !explainsLock(before: last.epoch) { throw .locked }
                if plan.isReadOnly { return nil }
                let tookOver = !isNamed && ClaimFolder.record(last.bytes, epoch: last.epoch)?.state != .released
                if let claim = try claim(next, tookOver: tookOver, lost: lost) { return claim }
                // Another process was faster; or the store still shows its folder as it was before.
                guard pause(times.interval / 2) else { throw .givenUp }
            case .watch:
                guard try watch(last) else { return nil }
                if let claim = try begin(next, lost: lost) { return claim }
            }
        }
        throw .system(.EBUSY)
    }

    private func newest() throws(ClaimError) -> ClaimWatch.Sight {
        do throws(Errno) {
            let epoch = try folder.newestEpoch()
            let bytes = try epoch == 0 ? nil : folder.bytes(of: epoch)
            return ClaimWatch.Sight(
                epoch: epoch, bytes: bytes,
                isReleased: ClaimFolder.record(bytes, epoch: epoch)?.state == .released)
        } catch { throw .system(error) }
    }

    /// Whether the lock of a store may be that of a machine that is gone: an older claim was taken over, not released.
    /// Its holder is fenced by the newer one, so the claims alone decide, as on a store without locks.
    private func explainsLock(before epoch: UInt64) throws(ClaimError) -> Bool {
        guard !plan.isLocal else { return false }
        do throws(Errno) {
            for older in try folder.epochs() where older < epoch {
                guard let record = ClaimFolder.record(try folder.bytes(of: older), epoch: older) else { continue }
                if record.state != .released, claimant.relation(to: record).process == .unknown { return true }
            }
        } catch { throw .system(error) }
        return false
    }

    private func rule(_ sight: ClaimWatch.Sight) -> ClaimRule {
        let record = ClaimFolder.record(sight.bytes, epoch: sight.epoch)
        return ClaimRule(
            record, isWhole: sight.bytes != nil,
            record.map { claimant.relation(to: $0) }
                ?? ClaimRelation(isSameMachine: false, isSameFolder: false, isSameBoot: false, process: .unknown),
            in: ClaimSurroundings(isLocal: plan.isLocal, hasLock: plan.hasLock))
    }

    private func holder(_ sight: ClaimWatch.Sight) -> ClaimHolder {
        let record = ClaimFolder.record(sight.bytes, epoch: sight.epoch)
        return ClaimHolder(
            sealedHost: record?.host, isSameMachine: record.map { claimant.relation(to: $0).isSameMachine } ?? false,
            written: record?.written)
    }

    /// Shares a claim with the machines that have it. Nil if it is of another kind.
    private func join(
        _ last: ClaimWatch.Sight, lost: @escaping @Sendable () -> Void
    ) throws(ClaimError) -> VaultClaim? {
        guard let record = ClaimFolder.record(last.bytes, epoch: last.epoch), record.isShared, record.state == .held
        else { return nil }
        let own = claimant.record(
            .held, epoch: last.epoch, times: times, renews: renews, isShared: plan.isShared)
        do throws(Errno) {
            try folder.renew(own)
            return try keep(own, tookOver: false, lost: lost)
        } catch .ESTALE { return nil } catch .ETIME { throw .leaseTooShort } catch { throw .system(error) }
    }

    /// Makes the claim of an epoch at once; nil if another process was faster.
    private func claim(
        _ epoch: UInt64, tookOver: Bool, lost: @escaping @Sendable () -> Void
    ) throws(ClaimError) -> VaultClaim? {
        let record = claimant.record(.held, epoch: epoch, times: times, renews: renews, isShared: plan.isShared)
        do throws(Errno) {
            do throws(Errno) { try folder.make(record) } catch .EEXIST { return nil }
            // A process that was stopped since it looked may have got an epoch that others have passed.
            guard try folder.newestEpoch() <= epoch else { return nil }
            return try keep(record, tookOver: tookOver, lost: lost)
        } catch .ESTALE { return nil } catch .ETIME { throw .leaseTooShort } catch { throw .system(error) }
    }

    private func keep(
        _ record: ClaimRecord, tookOver: Bool, lost: @escaping @Sendable () -> Void
    ) throws(Errno) -> VaultClaim {
        let keeper = try ClaimKeeper(record, in: folder, times, isLocal: plan.isLocal, lost: lost)
        try keeper.start()
        return VaultClaim(keeper, epoch: record.epoch, tookOver: tookOver)
    }

    /// Watches a claim, takes it over with the state *taking*, and waits until its holder's lease is over. False if the
    /// vault is only read, when the holder counts as dead.
    private func watch(_ last: ClaimWatch.Sight) throws(ClaimError) -> Bool {
        let record = ClaimFolder.record(last.bytes, epoch: last.epoch)
        let times = record.map { self.times.longest(with: .milliseconds(Int($0.lease))) } ?? self.times
        var watch = ClaimWatch(last, times, now: BootClock.now)
        do throws(Errno) { try folder.ask() } catch {
            // A holder on a store that cannot be written to has nothing to lose by this reader.
            guard plan.isReadOnly, error == .EROFS || error == .EACCES else { throw .system(error) }
        }
        defer { folder.endQuestion() }
        waiting(holder(last), watch.left(now: BootClock.now))
        while true {
            guard pause(min(times.interval / 2, .seconds(1))) else { throw .givenUp }
            let sight = try newest()
            switch watch.next(sight, now: BootClock.now) {
            case .wait: break
            case .refuse: throw .inUse(holder(sight))
            case .claim, .begin: return !plan.isReadOnly
            case .take:
                if plan.isReadOnly { return false }
                guard try make(.taking, epoch: last.epoch + 1) else { throw .inUse(holder(try newest())) }
                watch.tookOver(epoch: last.epoch + 1, now: BootClock.now)
            }
        }
    }

    /// False if another process was faster.
    private func make(_ state: ClaimRecord.State, epoch: UInt64) throws(ClaimError) -> Bool {
        do throws(Errno) {
            try folder.make(claimant.record(state, epoch: epoch, times: times, renews: renews, isShared: plan.isShared))
            return true
        } catch .EEXIST { return false } catch { throw .system(error) }
    }

    /// Begins under the claim that `watch` has made, or makes it now because the holder has released its own.
    private func begin(_ epoch: UInt64, lost: @escaping @Sendable () -> Void) throws(ClaimError) -> VaultClaim? {
        let record = claimant.record(.held, epoch: epoch, times: times, renews: renews, isShared: plan.isShared)
        let isMade: Bool
        do throws(Errno) { isMade = try folder.exists(epoch) } catch { throw .system(error) }
        guard isMade else { return try claim(epoch, tookOver: false, lost: lost) }
        do throws(Errno) {
            guard let taken = ClaimFolder.record(try folder.bytes(of: epoch), epoch: epoch),
                taken.daemon == claimant.daemon
            else { return nil }
            try folder.renew(record)
            return try keep(record, tookOver: true, lost: lost)
        } catch .ETIME { throw .leaseTooShort } catch { throw .system(error) }
    }
}

import Format
import Posix
import Synchronization

/// The thread that looks at this process's claim, renews it, and extends the lease.
final class ClaimKeeper: Sendable {
    let lease: Lease
    private let folder: ClaimFolder
    private let times: ClaimTimes
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let record: Mutex<ClaimRecord>
    private let isStale = Atomic(false)
    private let isStopped = Atomic(false)
    private let isReleased = Atomic(false)
    private let worker = Worker()
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let hasEnded = Monitor(false)
    private let lost: @Sendable () -> Void

    /// - Parameter lost: called once, from the thread, when another process has taken the vault over.
    init(
        _ record: ClaimRecord, in folder: ClaimFolder, _ times: ClaimTimes, isLocal: Bool,
        lost: @escaping @Sendable () -> Void
    ) throws(Errno) {
        self.record = Mutex(record)
        self.folder = folder
        self.times = times
        self.lost = lost
        lease = try Lease(patience: times.patience(isLocal: isLocal))
    }

    /// Looks once, then starts the thread.
    ///
    /// - Throws: why it could not look, or not make the thread; ESTALE if another process has made the next claim;
    ///   ETIME if a look takes too long for the lease.
    func start() throws(Errno) {
        let start = MonotonicClock.now
        try look()
        if lease.isLost { throw .ESTALE }
        // Each look would end after the lease that it extends.
        if MonotonicClock.now - start > times.lease / 2 { throw .ETIME }
        // Of a command: Ctrl-C is for the thread that handles it.
        try worker.startWithoutSignals { self.run() }
    }

    private func run() {
        defer {
            hasEnded.withLock { $0 = true }
            hasEnded.wakeAll()
        }
        var isUnknown = false
        while !isStopped.load(ordering: .acquiring) {
            lease.pause(atMost: isUnknown ? times.interval / 4 : times.interval)
            guard !isStopped.load(ordering: .acquiring), !lease.isLost else { continue }
            do throws(Errno) {
                try look()
                isUnknown = false
            } catch {
                // The lease ends, and changes wait, until a look succeeds.
                isUnknown = true
            }
            if lease.isLost { lost() }
        }
    }

    /// Has the claim written anew soon, with what `change` does to it.
    func change(_ change: (inout ClaimRecord) -> Void) {
        record.withLock { change(&$0) }
        isStale.store(true, ordering: .releasing)
        lease.stop()
    }

    private func look() throws(Errno) {
        let start = BootClock.now
        let epoch = record.withLock { $0.epoch }
        guard try folder.exists(epoch), try !folder.exists(epoch + 1) else { return lease.lose() }
        let isAsked = try folder.isAsked()
        if record.withLock({ $0.renews }) || isAsked || isStale.exchange(false, ordering: .acquiringAndReleasing) {
            let renewed = record.withLock { record in
                record.renewals &+= 1
                record.written = UInt64(max(0, Timespec.now.seconds))
                return record
            }
            do throws(Errno) {
                try folder.renew(renewed)
                // Behind the answer: the one who asked looks at the claim, and not at its question.
                if isAsked { folder.endQuestion() }
            } catch .ENOENT { return lease.lose() } catch {
                // As on a full disk. A machine that takes this silence for death makes the next claim, and the next
                // look finds that: the lease needs no renewal. The answer is still owed.
                isStale.store(true, ordering: .releasing)
            }
        }
        lease.extend(until: start + times.lease)
    }

    /// Ends the thread; false if it hangs in the store. Then it is left to the end of the process.
    @discardableResult
    func stop() -> Bool {
        isStopped.store(true, ordering: .releasing)
        lease.stop()
        let start = MonotonicClock.now
        let limit = Duration.seconds(5)
        guard hasEnded.wait(atMost: { start + limit - MonotonicClock.now }, { $0 ? () : nil }) != nil else {
            return false
        }
        worker.join()
        return true
    }

    /// Stops for good, and leaves the claim as it is.
    func leave() {
        isReleased.store(true, ordering: .releasing)
        stop()
    }

    /// Stops, and says in the claim that the work has ended. Everything that this process has written must be durable,
    /// or of no account.
    func release() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing), stop(), !lease.isLost else { return }
        let released = record.withLock { record in
            record.state = .released
            record.renewals &+= 1
            record.written = UInt64(max(0, Timespec.now.seconds))
            return record
        }
        guard (try? folder.exists(released.epoch + 1)) == false else { return }
        try? folder.renew(released)
        folder.removeClaims(before: released.epoch)
    }
}

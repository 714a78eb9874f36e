import Posix
import Synchronization

/// Until when this machine may use what it has leases of, without a look at a record.
///
/// Another machine that takes over raises the record's epoch, and waits for `LeaseTimes.settle`. So a machine whose
/// record has its epoch is the one that counts, for one lease from the beginning of the look.
final class Membership: Sendable {
    private let machine: MachineNumber
    private let store: any SharedStore
    private let surroundings: any Surroundings

    private struct Term {
        var record: MemberRecord?
        var end = Duration.zero
        var isLost = false
        var isOver = false
    }
    private let term = Mutex(Term())

    init(of machine: MachineNumber, in store: any SharedStore, _ surroundings: any Surroundings) {
        self.machine = machine
        self.store = store
        self.surroundings = surroundings
    }

    /// This machine has written a record of its own.
    ///
    /// - Parameter start: when it began to.
    func begin(_ record: MemberRecord, at start: Duration) {
        term.withLock { term in
            term = Term(record: record, end: start + record.lease)
        }
    }

    /// - Throws: EIO if another machine has taken over; then for good.
    func check() throws(Errno) {
        // A look that takes longer than the lease proves nothing.
        for _ in 0..<Self.mostLooks {
            let now = surroundings.now
            let isValid = try term.withLock { (term) throws(Errno) in
                if term.isLost { throw .EIO }
                return now < term.end
            }
            if isValid { return }
            try look()
        }
        throw .ETIMEDOUT
    }

    private static let mostLooks = 3

    /// Looks at the record. The keeper does so each `LeaseTimes.interval`.
    func look() throws(Errno) {
        let start = surroundings.now
        let record = try store.members().first { $0.machine == machine }
        try term.withLock { (term) throws(Errno) in
            if term.isOver { return }
            guard !term.isLost, let record, record == term.record else {
                term.isLost = true
                throw .EIO
            }
            term.end = max(term.end, start + record.lease)
        }
    }

    /// This machine is about to leave: it uses nothing any more.
    func end() { term.withLock { $0.isOver = true } }

    var isLost: Bool { term.withLock { $0.isLost } }
}

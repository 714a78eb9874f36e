public import Posix
import Synchronization

/// The leases of one machine on a vault that several machines have mounted: docs/LEASES.md.
///
/// A machine uses an object only between `acquire` and `release`, and changes the store only after `check`. Any thread
/// may call any method. No store is called under the table's lock.
public final class Leases: Sendable {
    public let machine: MachineNumber
    let store: any SharedStore
    let surroundings: any Surroundings
    let times: LeaseTimes
    let membership: Membership
    let table = Mutex(LeaseTable())
    /// The other machines that may have leases, as the register said; valid under a lease of it.
    let others = Mutex<[MachineNumber]>([])
    /// Which machines a thread of this process recovers.
    let recovering = Mutex<Set<MachineNumber>>([])
    /// What this machine has just given up for others.
    let turns = Mutex(LeaseTurns())
    /// It has this object: so it is there as long as requests come.
    unowned let owner: any LeaseOwner

    public init(
        of machine: MachineNumber, in store: any SharedStore, _ surroundings: any Surroundings, times: LeaseTimes,
        owner: any LeaseOwner
    ) {
        self.machine = machine
        self.store = store
        self.surroundings = surroundings
        self.times = times
        self.owner = owner
        membership = Membership(of: machine, in: store, surroundings)
    }

    /// Call it before each change of the store, and before what is in memory is believed.
    ///
    /// - Throws: EIO once another machine has taken over.
    public func check() throws(Errno) { try membership.check() }

    /// Whether another machine has taken over: nothing can be used any more.
    public var isLost: Bool { membership.isLost }

    // MARK: Use

    /// Waits until this machine has a lease of at least this kind, and keeps it until `release`.
    ///
    /// - Throws: ETIMEDOUT if another machine does not give it up; EIO once another machine has taken over.
    public func acquire(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) {
        while true {
            switch table.withLock({ $0.enter(object, kind) }) {
            case .entered:
                // Also what was read while the lease was taken counts only if no machine has taken over meanwhile.
                do throws(Errno) { return try membership.check() } catch {
                    release(object)
                    throw error
                }
            case .busy:
                try surroundings.wait { table.withLock { $0.canEnter(object, kind) } }
            case .lacking(let held):
                var taken: LeaseKind?
                defer {
                    table.withLock { [taken] table in table.end(object, with: taken) }
                    surroundings.wakeAll()
                }
                try take(object, kind, instead: held)
                taken = kind
            }
        }
    }

    public func release(_ object: LeaseObject) {
        table.withLock { $0.leave(object) }
        surroundings.wakeAll()
    }

    /// Runs a request that uses an object.
    public func using<Answer: ~Copyable>(
        _ object: LeaseObject, _ kind: LeaseKind, _ body: () throws(Errno) -> Answer
    ) throws(Errno) -> Answer {
        try acquire(object, kind)
        defer { release(object) }
        return try body()
    }
}

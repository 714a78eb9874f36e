public import Posix

extension Leases {
    /// As `acquire`, but waits for no machine that lives, and for no other thread: a request that has other leases may
    /// call it in any order.
    ///
    /// - Returns: false if it would have to wait.
    public func acquireAtOnce(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) -> Bool {
        while true {
            switch table.withLock({ $0.enter(object, kind) }) {
            case .entered:
                do throws(Errno) { try membership.check() } catch {
                    release(object)
                    throw error
                }
                return true
            case .busy: return false
            case .lacking(let held):
                var taken: LeaseKind?
                defer {
                    table.withLock { [taken] table in table.end(object, with: taken) }
                    surroundings.wakeAll()
                }
                guard try takeAtOnce(object, kind, instead: held) else {
                    taken = held
                    return false
                }
                taken = kind
            }
        }
    }

    /// What this machine has a lease of.
    public func held(_ object: LeaseObject) -> LeaseKind? { table.withLock { $0.held(object) } }

    /// How many leases this machine has.
    public var count: Int { table.withLock { $0.objects } }
}

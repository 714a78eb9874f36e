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

    /// Takes a write lease of an object that this machine has just made: no other one can know its ID, or have left
    /// anything of it. What is in memory of it counts.
    ///
    /// - Throws: EEXIST if there is a lease of that number all the same.
    public func begin(_ object: LeaseObject) throws(Errno) {
        switch table.withLock({ $0.enter(object, .write) }) {
        case .entered:
            release(object)
            throw .EEXIST
        case .busy: throw .EEXIST
        case .lacking(let held):
            var taken = held
            defer {
                table.withLock { [taken] table in table.end(object, with: taken) }
                surroundings.wakeAll()
            }
            if held != nil { throw .EEXIST }
            guard try store.lock(object, .write) else { throw .EEXIST }
            taken = .write
        }
    }

    /// What this machine has a lease of.
    public func held(_ object: LeaseObject) -> LeaseKind? { table.withLock { $0.held(object) } }
}

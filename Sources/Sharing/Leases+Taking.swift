import Posix

extension Leases {
    /// Takes a lease from the store. What dead machines have left is in place before it counts.
    ///
    /// - Parameter held: what this machine has; after an error it has nothing.
    func take(_ object: LeaseObject, _ kind: LeaseKind, instead held: LeaseKind?) throws(Errno) {
        do throws(Errno) {
            if held != nil, try store.lock(object, kind) { return try believe(object, kind, instead: held) }
            forget(object)
            if held != nil { try store.unlock(object) }
            if let wait = turns.withLock({ [surroundings] turns in turns.wait(for: object, now: surroundings.now) }) {
                try surroundings.pause(for: wait)
            }
            try lock(object, kind)
            try believe(object, kind, instead: nil)
        } catch {
            abandon(object)
            throw error
        }
    }

    /// The same, if no other machine has a lock that is in the way; else what this machine has stays.
    func takeAtOnce(_ object: LeaseObject, _ kind: LeaseKind, instead held: LeaseKind?) throws(Errno) -> Bool {
        do throws(Errno) {
            let waits = turns.withLock { [surroundings] turns in
                held == nil && turns.wait(for: object, now: surroundings.now) != nil
            }
            if waits { return false }
            guard try store.lock(object, kind) else { return false }
            try believe(object, kind, instead: held)
            return true
        } catch {
            abandon(object)
            throw error
        }
    }

    /// The store has locked an object: what other machines have left is in place when this returns.
    private func believe(_ object: LeaseObject, _ kind: LeaseKind, instead held: LeaseKind?) throws(Errno) {
        guard object != .register else { return try adoptRegister() }
        // With a lower lease, nothing was changed in between. But a machine that the store has lost may still read what
        // it had.
        try using(.register, .read) { () throws(Errno) in try recoverTheDead() }
        if held == nil { try owner.adopt(object, kind) }
    }

    private func abandon(_ object: LeaseObject) {
        forget(object)
        // If that fails as well, the store has the lock until the object is used again, or the process ends.
        try? store.unlock(object)
    }

    /// Locks an object in the store, and lets others know meanwhile that this machine waits.
    func lock(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) {
        if try store.lock(object, kind) { return }
        let wish = Wish(object, kind)
        let end = surroundings.now + times.patience
        try store.wish(wish, isOver: false)
        defer { try? store.wish(wish, isOver: true) }
        while !(try store.lock(object, kind)) {
            guard surroundings.now < end else { throw .ETIMEDOUT }
            try surroundings.pause(for: times.poll)
        }
    }

    /// Brings into place what machines that are gone have left. After that, a lock that was just taken means that the
    /// object is as its last holder has left it. Needs a lease of the register.
    func recoverTheDead() throws(Errno) {
        for member in others.withLock({ $0 }) where !(try store.isSignLocked(of: member)) { try recover(member) }
    }

    func forget(_ object: LeaseObject) { if object != .register { owner.forget(object) } }

    /// Reads the register: which other machines may have leases.
    func adoptRegister() throws(Errno) {
        let records = try store.members()
        others.withLock { others in
            others = records.filter { $0.machine != machine && $0.state != .left }.map(\.machine)
        }
    }
}

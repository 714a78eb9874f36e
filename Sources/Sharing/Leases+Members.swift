public import Posix

extension Leases {
    /// Begins to work with the vault. What this machine itself has left is in place before.
    ///
    /// - Throws: EBUSY if another process of this machine works with it. After an error the process must end, by which
    ///   the store drops its locks.
    public func join() throws(Errno) {
        while true {
            try recover(machine)
            try lock(.register, .write)
            // Between the two, another process of this machine may have come and gone.
            let start = surroundings.now
            let old = try record(of: machine)
            if let old, old.state != .left {
                try store.unlock(.register)
                guard try !store.isSignLocked(of: machine) else { throw .EBUSY }
                continue
            }
            guard try store.lockSign(of: machine) else {
                try store.unlock(.register)
                throw .EBUSY
            }
            let record = MemberRecord(
                machine: machine, epoch: (old?.epoch ?? 0) + 1, state: .active, writer: machine, lease: times.lease)
            try store.write(record)
            membership.begin(record, at: start)
            // If the store has lost this machine meanwhile, another one may have read the register without this record.
            try lock(.register, .write)
            // A machine that has lost its lock of the register would not learn of this one.
            try adoptRegister()
            try recoverTheDead()
            // The others learn of this machine when they read the register again.
            return try store.unlock(.register)
        }
    }

    /// Ends the work with the vault: all is in place.
    ///
    /// - Throws: EBUSY if requests use something.
    public func leave() throws(Errno) {
        let end = surroundings.now + times.patience
        while true {
            try giveUpIdle(keeping: 0)
            guard table.withLock({ $0.objects }) > 0 else { break }
            // The keeper may be giving up the last ones.
            guard surroundings.now < end else { throw .EBUSY }
            try surroundings.pause(for: times.poll)
        }
        try membership.check()
        guard let old = try record(of: machine), old.state == .active else { throw .EIO }
        membership.end()
        try store.write(
            MemberRecord(machine: machine, epoch: old.epoch, state: .left, writer: machine, lease: old.lease))
        try store.unlockSign(of: machine)
    }

    /// Looks whether this machine is still the one that counts. The keeper does so each `LeaseTimes.interval`.
    public func look() throws(Errno) { try membership.look() }

    /// Which other machines may have leases, as the register said when this machine last read it.
    public var othersAtLastLook: [MachineNumber] { others.withLock { $0 } }

    /// Whether the records say that all machines have ended their work, this one too.
    public func haveAllLeft() throws(Errno) -> Bool { try store.members().allSatisfy { $0.state == .left } }

    func record(of machine: MachineNumber) throws(Errno) -> MemberRecord? {
        try store.members().first { $0.machine == machine }
    }

    /// Brings into place what a machine has left, unless it lives.
    func recover(_ dead: MachineNumber) throws(Errno) {
        while true {
            guard let record = try record(of: dead), record.state != .left else { return forgetMember(dead) }
            if record.state == .active, try store.isSignLocked(of: dead) { return }
            guard try beginRecovery(of: dead) else { continue }
            defer { endRecovery(of: dead) }
            if try bringIntoPlace(dead) { return }
        }
    }

    /// - Returns: false if the record is not this machine's claim any more: another machine has begun as well, or the
    ///   last record of the dead one came late.
    private func bringIntoPlace(_ dead: MachineNumber) throws(Errno) -> Bool {
        let start = surroundings.now
        // Another machine may have done it meanwhile, or it may have come back.
        guard let old = try record(of: dead), old.state != .left else {
            forgetMember(dead)
            return true
        }
        if old.state == .active, try store.isSignLocked(of: dead) { return true }
        let lease = max(old.lease, times.lease)
        let claim = MemberRecord(
            machine: dead, epoch: old.epoch + 1, state: .recovering, writer: machine, lease: lease)
        try store.write(claim)
        // The recovery counts as long as the record is this machine's claim: another one may have begun one as well, if
        // the store has lost this machine. It is no member yet itself if it recovers itself.
        let term = Membership(of: dead, in: store, surroundings)
        term.begin(claim, at: start)
        let check: @Sendable () throws(Errno) -> Void = { [machine, membership] () throws(Errno) in
            try term.check()
            if dead != machine { try membership.check() }
        }
        do throws(Errno) {
            // Also if another machine was about to recover it, and is gone now: it may have changes under way.
            try surroundings.pause(for: LeaseTimes(lease: lease).settle)
            try owner.replay(dead, check)
            try check()
        } catch {
            if term.isLost, !membership.isLost { return false }
            throw error
        }
        try store.write(
            MemberRecord(machine: dead, epoch: claim.epoch, state: .left, writer: machine, lease: old.lease))
        forgetMember(dead)
        return true
    }

    /// - Returns: false if another thread, or another machine, recovers it: then what it has left may be in place now.
    private func beginRecovery(of dead: MachineNumber) throws(Errno) -> Bool {
        // The store's lock is that of this process: for each of its threads it is free.
        guard recovering.withLock({ $0.insert(dead).inserted }) else {
            while recovering.withLock({ $0.contains(dead) }) { try surroundings.pause(for: times.poll) }
            return false
        }
        var isLocked = false
        defer { if !isLocked { endRecovering(dead) } }
        isLocked = try store.lockRecovery(of: dead)
        if !isLocked { try surroundings.pause(for: times.interval) }
        return isLocked
    }

    private func endRecovery(of dead: MachineNumber) {
        // If that fails, the lock ends with the process. Until then, only this machine can recover the dead one.
        try? store.unlockRecovery(of: dead)
        endRecovering(dead)
    }

    private func endRecovering(_ dead: MachineNumber) { recovering.withLock { _ = $0.remove(dead) } }

    private func forgetMember(_ machine: MachineNumber) {
        others.withLock { others in others.removeAll { $0 == machine } }
    }
}

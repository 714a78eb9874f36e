public import Posix

/// What the protocol asks of a store that several machines reach.
///
/// All locks of a machine lie on one file, so that the store drops all of them at once, when it loses the machine. Any
/// thread may call any method. Each throws what the store answers.
public protocol SharedStore: AnyObject, Sendable {
    /// Locks an object for this machine; a lock of the other kind that it has is changed, in one step.
    ///
    /// - Returns: false if another machine has a lock that conflicts; then this machine's lock is as it was.
    func lock(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) -> Bool

    func unlock(_ object: LeaseObject) throws(Errno)

    /// Lets the other machines know that this one waits for a lease, or waits no more.
    func wish(_ wish: Wish, isOver: Bool) throws(Errno)

    /// What other machines wait for.
    func wishes() throws(Errno) -> [Wish]

    /// Locks a machine's sign of life, for as long as this machine reaches the store.
    ///
    /// - Returns: false if it is locked.
    func lockSign(of machine: MachineNumber) throws(Errno) -> Bool

    func unlockSign(of machine: MachineNumber) throws(Errno)

    /// Whether a sign of life is locked, by this machine or another one.
    func isSignLocked(of machine: MachineNumber) throws(Errno) -> Bool

    /// Locks the right to recover what a machine has left.
    ///
    /// - Returns: false if another machine has it.
    func lockRecovery(of machine: MachineNumber) throws(Errno) -> Bool

    func unlockRecovery(of machine: MachineNumber) throws(Errno)

    /// The records of all machines that have ever worked with the vault.
    func members() throws(Errno) -> [MemberRecord]

    /// Writes a machine's record, durably, in one step. It takes effect within `LeaseTimes.delay`, or fails.
    func write(_ record: MemberRecord) throws(Errno)
}

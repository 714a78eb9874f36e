public import Posix

/// Who has the objects in memory: the vault.
public protocol LeaseOwner: AnyObject, Sendable {
    /// This machine has a lease of an object now: what it knew of it before counts no more.
    func adopt(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno)

    /// This machine is about to lose a lease: brings all changes of the object into place, where other machines read.
    /// No thread uses the object meanwhile.
    func settle(_ object: LeaseObject) throws(Errno)

    /// What is in memory of an object must not be used any more.
    func forget(_ object: LeaseObject)

    /// Brings into place, durably, what the journal of a machine that is gone has and the files have not.
    ///
    /// - Parameter check: call it before each change, in place of `Leases.check`.
    func replay(
        _ machine: MachineNumber, _ check: @escaping @Sendable () throws(Errno) -> Void
    ) throws(Errno)
}

import Format
public import Posix
public import Store

/// The right to change a vault, against processes on other machines, while the object exists.
///
/// flock(2) keeps apart what goes through one kernel. On a store that several machines reach, a file in the vault says
/// who works with it; the holder renews it, and makes a change only as long as it has seen lately that no other process
/// has made the next claim. docs/CLAIMS.md has the protocol, docs/FORMAT.md the bytes.
public final class VaultClaim: Sendable {
    private let keeper: ClaimKeeper
    /// Whether the claim before was not released: its holder has died, or was silent.
    public let tookOver: Bool
    public let epoch: UInt64

    /// How the vault is claimed.
    public struct Plan: Sendable {
        /// Whether every program that changes the vault goes through this machine's kernel.
        public var isLocal: Bool
        /// Whether this process has the flock(2) on the vault.
        public var hasLock: Bool
        /// Whether another process has that lock, or its machine is gone and the store's server has not noticed. Then
        /// only a claim that is silent for long enough is taken over.
        public var isLockRefused = false
        /// Nil for the usual one, and for a claim that is renewed only on a store that is not local.
        public var lease: Duration?
        /// Whether to take a claim over without waiting: the user says that its holder has ended.
        public var takesOver = false
        /// Whether other machines work with the vault at the same time, under leases: then a claim that is shared
        /// already is no obstacle.
        public var isShared = false
        /// The vault is only read: nothing is claimed, but a holder that lives keeps this process out.
        public var isReadOnly = false

        public init(isLocal: Bool, hasLock: Bool) {
            self.isLocal = isLocal
            self.hasLock = hasLock
        }
    }

    /// - Parameters:
    ///   - waiting: called once if there is a wait: for whom, and how long at most.
    ///   - pause: waits so long; false to give up.
    ///   - lost: called once, from a thread, when another process has taken the vault over.
    /// - Returns: nil if the vault is only read.
    public static func take(
        _ store: any Store, _ plan: Plan, waiting: @escaping (ClaimHolder, Duration) -> Void,
        pause: @escaping (Duration) -> Bool,
        lost: @escaping @Sendable () -> Void
    ) throws(ClaimError) -> VaultClaim? {
        if let taking = try ClaimTaking(store, plan, waiting: waiting, pause: pause) {
            return try taking.run(lost: lost)
        }
        if plan.isLockRefused, !plan.takesOver { throw .locked }
        return nil
    }

    init(_ keeper: ClaimKeeper, epoch: UInt64, tookOver: Bool) {
        self.keeper = keeper
        self.epoch = epoch
        self.tookOver = tookOver
    }

    deinit { release() }

    /// Ends the renewals, and tells others that the vault is free, unless it was lost. A second call does nothing.
    public func release() { keeper.release() }

    /// Ends the renewals, and releases nothing: a change may still be on its way to the store, so that others have to
    /// wait as for a machine that has died.
    public func leave() { keeper.leave() }

    /// Guards the changes of the store.
    public var fence: any Fence { keeper.lease }

    /// Whether another process has taken the vault over. Does not block.
    public var isLost: Bool { keeper.lease.isLost }

    /// Adds the host's name to the claim, encrypted: 80 bytes.
    public func name(sealedHost: [UInt8]) {
        precondition(sealedHost.count == ClaimRecord.sealedHostByteCount, "of another size")
        keeper.change { $0.host = sealedHost }
    }
}

/// Whose claim is in the way.
public struct ClaimHolder: Hashable, Sendable {
    /// The host's name, encrypted under a key of the volume.
    public let sealedHost: [UInt8]?
    public let isSameMachine: Bool
    /// When the claim was last renewed, in seconds since 1970 by the holder's clock.
    public let written: UInt64?
}

public enum ClaimError: Error, Hashable, Sendable {
    case system(Errno)
    /// Another process works with the vault.
    case inUse(ClaimHolder)
    /// Another process has the lock, and no claim says whose it is.
    case locked
    /// `pause` has said so.
    case givenUp
    /// A look at the claim takes too long for the lease.
    case leaseTooShort
    /// The epochs are used up: no program has done that.
    case damaged
}

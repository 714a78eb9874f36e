import Format
public import Keybag
public import Posix
public import Sharing
public import Store
import Synchronization

/// A vault that several machines work in together: this machine's leases, and its share of the protocol.
///
/// Thread-safe. docs/LEASES.md.
public final class VaultSharing: Sendable {
    public let leases: Leases
    let vault: Vault
    private let relay: LeaseRelay
    private let surroundings: SystemSurroundings
    private let times: LeaseTimes
    private let keeper = Mutex<LeaseKeeper?>(nil)

    /// As many leases stay that no request uses. Each is a lock in the store, and most stores search a list of all.
    private static let mostLeases = 4096

    /// - Parameters:
    ///   - vault: over a store that asks `fence`.
    ///   - base: the same store, which does not ask it.
    ///   - fence: stops all changes once another machine has taken over.
    ///   - lease: how long this machine may work without a look at its record.
    /// - Throws: the error of the store if it has no locks of bytes.
    public init(_ vault: Vault, base: any Store, _ fence: LeaseFence, lease: Duration) throws(VaultError) {
        guard let machine = vault.options.machine, vault.isShared else { throw .system(.EINVAL) }
        self.vault = vault
        times = LeaseTimes(lease: lease)
        surroundings = SystemSurroundings()
        relay = LeaseRelay(vault, base)
        let file: LeaseFile
        do { file = try LeaseFile(in: base, vault.keys) } catch { throw .system(error) }
        leases = Leases(of: machine.machine, in: file, surroundings, times: times, owner: relay)
        fence.follow(leases)
    }

    /// Begins to work with the vault. What machines have left that are gone is in place before; that may take three
    /// times the lease. No other machine may begin at the same time.
    ///
    /// - Throws: EBUSY if another process of this machine works with the vault.
    public func join() throws(VaultError) {
        do { try leases.join() } catch { throw relay.failure.withLock { $0 } ?? .system(error) }
        // The first machine brings into place what machines have left that worked alone.
        if leases.othersAtLastLook.isEmpty { try relay.replayAll(but: leases.machine) }
    }

    /// Begins to answer other machines.
    ///
    /// - Parameters:
    ///   - objects: who has the objects in memory, for as long as this one lives.
    ///   - failed: called when a lease cannot be given up.
    ///   - lost: called once, when another machine has taken over.
    public func start(
        _ objects: any SharedObjects, failed: @escaping @Sendable (Errno) -> Void,
        lost: @escaping @Sendable () -> Void
    ) throws(Errno) {
        relay.serve(objects)
        let keeper = try LeaseKeeper(leases, mostLeases: Self.mostLeases, failed: failed, lost: lost)
        // Before it starts: one of its two threads may be there if the other one cannot be made.
        self.keeper.withLock { $0 = keeper }
        try keeper.start()
    }

    /// Gives up all leases, for which the vault still works. No request comes any more.
    public func giveUpAll() throws(VaultError) {
        do { try leases.giveUpIdle(keeping: 0) } catch { throw .system(error) }
    }

    /// Ends the work with the vault, which is closed.
    ///
    /// - Parameter isClean: all is in place; else another machine recovers what is left.
    public func leave(isClean: Bool) {
        keeper.withLock { keeper in
            keeper?.stop()
            keeper = nil
        }
        if isClean { try? leases.leave() }
        surroundings.end()
    }

    /// Whether what waits for another machine gives up soon. Calls are counted. Does not block.
    public func hurry(_ isOn: Bool) { surroundings.hurry(isOn) }

    /// Fails all that waits for another machine: the mount ends.
    public func interrupt() { surroundings.end() }

    /// Whether all machines have ended their work: no journal holds anything, and no change can be on its way.
    public var isLast: Bool { (try? leases.haveAllLeft()) ?? false }

    /// The same, of a vault that this process has not begun to work with. False too if that cannot be found out: then
    /// the claim stays, and another machine waits for it.
    public static func isUnused(_ store: any Store, _ keys: VolumeKeys) -> Bool {
        (try? LeaseFile(in: store, keys).members().allSatisfy { $0.state == .left }) ?? false
    }

    /// Whether the store says that a process of this machine works with the vault. It may be one that is gone: of a
    /// machine that has crashed and started again, the store may miss the old connection only after a while.
    public static func isTaken(
        _ machine: MachineNumber, _ store: any Store, _ keys: VolumeKeys
    ) throws(Errno) -> Bool {
        try LeaseFile(in: store, keys).isSignLocked(of: machine)
    }
}

/// Who has the objects of leases in memory: `LeaseOwner` has the meaning of each method.
public protocol SharedObjects: AnyObject, Sendable {
    func adopt(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno)
    func settle(_ object: LeaseObject) throws(Errno)
    func forget(_ object: LeaseObject)
}

/// Asks the leases before each change of the store, and after each read, once there are some.
public final class LeaseFence: Fence {
    private let leases = Mutex<Leases?>(nil)
    private let lost = Atomic(false)

    public init() {}

    func follow(_ leases: Leases) { self.leases.withLock { $0 = leases } }

    public func check() throws(Errno) { try leases.withLock { $0 }?.check() }
    // Of a process that was stopped for a while, a read may come after another machine's change.
    public func checkRead() throws(Errno) { try check() }
    public func beginHurry() {}
    public func endHurry() {}
    public var isLost: Bool { leases.withLock { $0 }?.isLost ?? false }
}

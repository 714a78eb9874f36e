import Claims
import Crypto
public import Failure
import Format
import Glibc
import Keybag
import Posix
public import Store

/// A vault that is held by this process, against other processes of this machine and of others, while the object
/// exists.
public final class VaultHold: Sendable {
    /// The vault's folder. Each change asks the claim first, if there is one.
    public let store: any Store
    /// Whether the claim of another machine was taken over, which had not released it.
    public let tookOver: Bool
    /// Nil if other machines, or other processes, work with the vault at the same time.
    private let lock: VaultLock?
    private let claim: VaultClaim?
    /// Whether other machines may have the claim too.
    private let isShared: Bool

    /// - Parameters:
    ///   - readOnly: the vault is not changed.
    ///   - makesLock: makes the file that is locked, if it is missing.
    /// - Throws: `vaultInUse`, `claimed`, `claimGivenUp`, or `file` with `path`.
    public init(
        _ store: any Store, at path: Path, readOnly: Bool, makesLock: Bool, _ options: ClaimOptions
    ) throws(Failure) {
        let isLocal = StoreKind(of: store).isLocal
        do {
            lock = options.isShared ? nil : try VaultLock(of: store, readOnly: !makesLock, needsLock: isLocal)
        } catch .EWOULDBLOCK {
            throw .vaultInUse
        } catch {
            throw .file(error, doing: "lock", path: path)
        }
        claim = try Self.claim(store, at: path, readOnly: readOnly, isLocal: isLocal, lock?.outcome ?? .none, options)
        tookOver = claim?.tookOver ?? false
        isShared = options.isShared
        self.store = claim.map { FencedStore(store, $0.fence) } ?? store
    }

    /// Leaves the claim as it is when the vault is given back: a change may still be on its way to the store.
    public func leaveClaim() { claim?.leave() }

    /// Releases a claim that other machines may have too, but do not have any more.
    public func releaseSharedClaim() { claim?.release() }

    // Before the lock is given back: the next process has to find the claim released. A machine that releases what
    // others share would let another one work at the same time.
    deinit { if isShared { claim?.leave() } else { claim?.release() } }

    private static func claim(
        _ store: any Store, at path: Path, readOnly: Bool, isLocal: Bool, _ lock: VaultLock.Outcome,
        _ options: ClaimOptions
    ) throws(Failure) -> VaultClaim? {
        let keys = HostName(in: store)
        // A folder without a keybag is not a vault, or not yet one, or not any more.
        guard keys.isOfVault else {
            if lock == .refused { throw .vaultInUse }
            return nil
        }
        var plan = VaultClaim.Plan(isLocal: isLocal, hasLock: lock == .held)
        plan.isLockRefused = lock == .refused
        plan.lease = options.lease
        plan.takesOver = options.takesOver
        plan.isShared = options.isShared
        plan.isReadOnly = readOnly
        do throws(ClaimError) {
            return try VaultClaim.take(
                store, plan,
                waiting: { holder, time in
                    let seconds = time.components.seconds + (time.components.attoseconds > 0 ? 1 : 0)
                    options.waiting(keys.opened(holder.sealedHost), Int(seconds))
                }, pause: options.pause, lost: options.lost)
        } catch {
            if options.isForgiving, lock != .refused { return nil }
            switch error {
            case .inUse(let holder) where holder.isSameMachine && holder.sealedHost == nil: throw .vaultInUse
            case .inUse(let holder): throw .claimed(host: keys.opened(holder.sealedHost), renewed: holder.written)
            case .locked: throw .vaultInUse
            case .givenUp: throw .claimGivenUp
            case .leaseTooShort:
                throw .failed(
                    reason: "the store takes longer for a look at the vault's claim than half the lease: a longer "
                        + "--lease is needed")
            case .damaged:
                throw .damaged(
                    reason: "the epochs of its claims are used up; once no machine uses it, lk.claims can be removed")
            case .system(let errno):
                // Nothing can be written: not by this process either. Or there is no space, which a user may want to
                // make; on a local store the lock suffices.
                if errno == .EROFS, lock != .refused { return nil }
                let isForgiven = [.ENOSPC, .EDQUOT, .EACCES, .EPERM].contains(errno)
                guard isForgiven, lock != .refused, readOnly || (isLocal && lock == .held) else {
                    let isOfClaims = [.ENOTDIR, .ELOOP, .ENXIO, .EISDIR, .EEXIST].contains(errno)
                    throw .file(errno, doing: "claim", path: isOfClaims ? path + "/lk.claims" : path)
                }
                return nil
            }
        }
    }

    /// Whether another machine has taken the vault over, for as long as that is asked. Does not hold the vault, and
    /// waits for no lock or disk.
    public var takenOver: @Sendable () -> Bool {
        guard let fence = claim?.fence else { return { false } }
        return { fence.isLost }
    }

    /// Whether changes wait for two seconds at most until it is known that the vault is still this process's own: a
    /// lock waits for them. Calls are counted. Does not wait.
    public func hurry(_ isOn: Bool) {
        if isOn { claim?.fence.beginHurry() } else { claim?.fence.endHurry() }
    }

    /// Tells other machines the name of this one, by a key of the volume.
    public func tellHost(_ keys: VolumeKeys) {
        guard let claim, let sealed = HostName.sealed(keys) else { return }
        claim.name(sealedHost: sealed)
    }
}

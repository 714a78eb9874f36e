public import Claims
import Glibc
public import Keybag
public import Posix
public import Store

/// Which machine works with a vault, or was the last to do so, as its newest claim says. docs/CLAIMS.md.
public struct VaultUse: Hashable, Sendable {
    public let state: ClaimFacts.State
    /// The machine's name; nil if it wrote none, or the keys are not those of its vault.
    public let host: String?
    public let isThisMachine: Bool
    /// Seconds since 1970, by that machine's clock.
    public let renewed: UInt64

    /// Nil if the vault has no claim that is whole. Waits only for the store.
    public init?(of store: any Store, _ keys: VolumeKeys?) throws(Errno) {
        guard let facts = try ClaimFacts(of: store) else { return nil }
        state = facts.state
        host = keys.flatMap { keys in facts.sealedHost.flatMap { HostName.opened($0, keys) } }
        isThisMachine = facts.isSameMachine
        renewed = facts.written
    }
}

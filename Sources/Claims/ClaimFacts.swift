import Format
public import Posix
public import Store

/// What the newest claim on a vault says, for people.
///
/// Nothing confirms it: each machine that can write to the vault can write claims. Only the host's name is encrypted.
public struct ClaimFacts: Hashable, Sendable {
    public enum State: String, Sendable {
        /// The last holder has ended its work.
        case released
        case held
        /// The claim of another holder is being taken over.
        case taking
        /// The holder was a process of this machine, and has ended without a release.
        case left
    }

    public let state: State
    /// The host's name, encrypted under a key of the volume.
    public let sealedHost: [UInt8]?
    public let isSameMachine: Bool
    /// When the claim was last written, in seconds since 1970 by the holder's clock.
    public let written: UInt64

    /// Nil if the vault has no claim, or the newest one is not whole: it is being written, or is damaged.
    ///
    /// Changes nothing, takes no lock, and waits only for the store.
    public init?(of store: any Store) throws(Errno) {
        guard let folder = try ClaimFolder(readingIn: store) else { return nil }
        let epoch = try folder.newestEpoch()
        guard epoch > 0, let record = ClaimFolder.record(try folder.bytes(of: epoch), epoch: epoch)
        else { return nil }
        let relation = try Claimant(of: store.root).relation(to: record)
        state =
            switch record.state {
            case .released: .released
            case _ where relation.process == .ended: .left
            case .held: .held
            case .taking: .taking
            }
        sealedHost = record.host
        isSameMachine = relation.isSameMachine
        written = record.written
    }
}

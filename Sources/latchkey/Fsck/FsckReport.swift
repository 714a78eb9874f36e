import Failure
import Keybag
import Vault
import VaultCheck

/// The report of `fsck`, for people or for scripts. Each finding is written at once, so their number is not limited.
///
/// Called by one thread at a time.
protocol FsckReport: AnyObject, Sendable {
    func begin(_ opened: CheckedVault)
    func found(_ finding: Finding)
    func end(_ outcome: FsckOutcome)
    /// The error to throw if the keybag does not open. If that is damage, it is reported as a finding first.
    func cannotOpen(_ error: Failure) -> any Error
}

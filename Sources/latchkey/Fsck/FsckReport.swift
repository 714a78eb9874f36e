import Failure
import Keybag
import Vault
import VaultCheck

/// What `fsck` tells, to people or to scripts: each finding as it comes, so that there may be any number of them.
///
/// Called by one thread at a time.
protocol FsckReport: AnyObject, Sendable {
    func begin(_ opened: CheckedVault)
    func found(_ finding: Finding)
    func end(_ outcome: FsckOutcome)
    /// The error to throw when the keybag does not open, which is told in the report's own way if it is damage.
    func cannotOpen(_ error: Failure) -> any Error
}

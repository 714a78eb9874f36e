import ArgumentParser
import Posix
import VaultNames

/// Whether a vault may lie where it would lose data.
struct StoreRiskOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            What to do where the file system that holds the vault would lose data: refuse, with exit code 7, or accept \
            the loss. latchkey doctor shows why. (default: refuse)
            """, valueName: "refuse|accept"))
    var storeRisk: NamedVault.StoreRisk?

    var accepts: Bool { storeRisk == .accept }

    /// Writes each warning of a mount to standard error, and one command that says more.
    static func warn(_ warnings: [String], of vault: Path) {
        guard !warnings.isEmpty else { return }
        for warning in warnings {
            Standard.error("latchkey: warning: where the vault lies: \(Printable(line: warning))")
        }
        Standard.error("  try: latchkey doctor \(vault.quoted)")
    }
}

extension NamedVault.StoreRisk: ExpressibleByArgument {}

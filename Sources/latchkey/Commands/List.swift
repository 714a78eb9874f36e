import ArgumentParser
import Posix
import VaultNames

/// `latchkey list`: the vaults that have names, and the mounts.
struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the vaults of the configuration and all mounts, with their state.",
        discussion: """
            With --json: a list of objects. Fields: name (only of a vault in the configuration), state (not-mounted, \
            before-first-unlock, unlocked, locking, locked, ending, not-answering, folder-missing, no-access, \
            keybag-missing, erased, not-a-vault, damaged), vault, mountPoint, line (of its table in the configuration), erased (seconds \
            since 1970; only of an erased vault). A path that is not UTF-8 is escaped, and vaultBase64 or \
            mountPointBase64 has its bytes. Fields may be added.
            """ + Examples.of("latchkey list", "latchkey list --json"))

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let named: NamedVaults
        do throws(NamedVaultsError) { named = try NamedVaults.load() } catch {
            // The mounts are there whatever the file says.
            try list(NamedVaults(path: error.path), isComplete: false)
            throw CommandError(error)
        }
        try list(named)
    }

    private func list(_ named: NamedVaults, isComplete: Bool = true) throws {
        let listed = try ListedVault.all(named)
        if json { return Standard.output(try JSON.text(listed)) }
        guard !listed.isEmpty else {
            guard isComplete else { return }
            return Standard.output(
                "No vault has a name in \(named.path), and none is mounted.\n  try: latchkey init --name NAME")
        }
        var table = Table()
        for vault in listed {
            table.add(
                vault.name.map { "\($0)" } ?? "-", vault.stateText, "\(vault.mountPoint)",
                vault.vault.map { "\($0)" } ?? "-")
        }
        Standard.output(table.lines())
    }
}

import Administration
import ArgumentParser
import Failure
import Format
import Posix
import Store

/// `latchkey doctor`: what the file system that holds a vault can do.
struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what the file system that holds a vault can do, and what follows.",
        discussion: """
            Tries it in a folder of its own in VAULT, lk.tmp.…, which is gone afterwards. Needs no key. Works on a \
            vault that is mounted or not, and on a folder that is to become one. What other machines see is known of \
            the kind of file system, and not tried. docs/COMMANDS.md says more.

            --json writes an object: folder, mountPoint (only if it is mounted), isVault, kind, fileSystem (as in the \
            table of mounts), source, isLocal, isReadOnly, facts (for each feature: answer, which is yes, no, number or \
            unknown; number; errno), findings (code, severity, text). Fields may be added.

            Exit codes: 0 a vault can live there, 7 it would lose data; the others as for every command.
            """ + Examples.of("latchkey doctor ~/vault", "latchkey doctor --json /mnt/server"))

    @Flag(help: "Write JSON.")
    var json = false

    @Argument(help: ArgumentHelp("The vault, its mount, or a folder that is to become a vault.", valueName: "vault"))
    var vault: Path

    func run() throws {
        let (folder, mountPoint) = try place()
        let store: DirectoryStore
        do throws(Errno) { store = try DirectoryStore(path: folder.path) } catch {
            throw error == .ENOTDIR
                ? CommandError(.notAFolder(path: vault), of: vault) : CommandError(cannot: "open", folder.path, error)
        }
        let report = StoreReport(
            folder: folder.path, mountPoint: mountPoint, isVault: folder.isVault, facts: StoreProbe.facts(of: store))
        Standard.output(json ? try JSON.text(report) : report.text)
        if report.losesData { throw Ended(code: .riskyStore) }
    }

    /// The vault's folder and its mount, or a folder that is no vault.
    private func place() throws(CommandError) -> (AbsolutePath, mountPoint: Path?) {
        let path = try VaultWord(vault).vaultPath
        let mounts = try inWords(try MountTable())
        if let folder = try? AbsolutePath(resolving: path), mounts.mount(holding: folder.path)?.isLatchkey != true,
            PathArgument.vault(around: folder) == nil
        {
            return (folder, nil)
        }
        switch try PathArgument.of(vault) {
        case .mount(let mount): return (AbsolutePath(known: mount.status.vault), mount.status.mountPoint)
        case .vault(let vault): return (vault, nil)
        case .orphan(let entry): return (AbsolutePath(known: entry.source), nil)
        }
    }
}

import Administration
import Glibc
import Posix

/// `latchkey mount DIR VAULT`: the arguments in the wrong order.
enum SwappedArguments {
    /// Throws if `vault` is a folder without a vault, and `mountPoint` is a vault.
    static func refuse(vault: Path, mountPoint: Path) throws(CommandError) {
        guard let folder = try? AbsolutePath(resolving: vault), !folder.isVault, !folder.hasRootFiles,
            (try? AbsolutePath(ofVault: mountPoint)) != nil,
            let entries = try? Descriptor.open(path: folder.path, O_RDONLY | O_DIRECTORY).entries()
        else { return }
        let what: Printable = entries.isEmpty ? "an empty folder" : "no vault"
        throw CommandError(
            .notFound, "the arguments seem swapped: \(vault) is \(what), and \(mountPoint) is a vault",
            try: "latchkey mount \(mountPoint.quoted) \(vault.quoted)")
    }
}

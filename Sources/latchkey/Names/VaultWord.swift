import Administration
import Glibc
import Posix
import VaultNames

/// What the user typed for a vault or a mount: a path, or the name of a vault in the configuration.
///
/// A word without a slash is a name if the configuration has it. So `./work` is always the folder.
enum VaultWord {
    case path(Path)
    case named(NamedVault)

    /// Looks the word up.
    ///
    /// - Parameter destroys: whether the command destroys what it finds. Then a folder with the name of a vault is
    ///   enough to refuse; otherwise only one that is another vault, or lies in one.
    /// - Throws: if the word may mean another vault as well, or if it is no path and the configuration cannot be used.
    init(_ word: Path, destroys: Bool = false) throws(CommandError) {
        guard let name = word.text.flatMap({ VaultName($0) }) else {
            self = .path(word)
            return
        }
        let vaults: NamedVaults
        do { vaults = try NamedVaults.load() } catch {
            // A broken configuration must not keep a mount in the working folder from being locked.
            guard !destroys, word.access(F_OK) == 0 else { throw CommandError(error) }
            self = .path(word)
            return
        }
        guard let vault = vaults[name.text] else {
            self = .path(word)
            return
        }
        if let folder = try Self.other(word, than: vault, destroys: destroys) {
            throw CommandError(
                .usage,
                "\(word) may be the vault of that name, \(vault.folder) (\(vaults.path), line \(vault.line)), or the "
                    + "folder \(folder); nothing was done",
                try: "the same with \(vault.folder.quoted)   (the vault of that name)",
                "the same with \(("./" + word).quoted)   (the folder)")
        }
        self = .named(vault)
    }

    /// The folder in the working folder that the word may mean as well; nil if there is none.
    private static func other(
        _ word: Path, than vault: NamedVault, destroys: Bool
    ) throws(CommandError) -> Path? {
        let mounts = try inWords(try MountTable())
        let lexical = AbsolutePath(lexically: word)
        // A mount whose daemon is dead cannot be resolved.
        guard
            let found = (try? AbsolutePath(resolving: word)) ?? (mounts.mount(at: lexical.path) == nil ? nil : lexical)
        else { return nil }
        let folder = (try? AbsolutePath(resolving: vault.folderPath))?.path ?? vault.folderPath
        guard found.path != folder else { return nil }
        if let mount = mounts.mount(holding: found.path), mount.isLatchkey {
            // The table names the vault of most mounts: a daemon that does not answer is not waited for.
            var isItself = mount.source == folder
            if !isItself, case .mount(let served) = PathArgument.served(mount) {
                isItself = served.status.vault == folder
            }
            return isItself && (!destroys || found.path == mount.mountPoint) ? nil : found.path
        }
        var status = stat()
        guard found.path.status(&status) == 0, FileStatus(status).kind == .directory else { return nil }
        let point = (try? AbsolutePath(resolving: vault.point))?.path ?? vault.point
        if found.path == point { return nil }
        if destroys { return found.path }
        guard let around = PathArgument.vault(around: found) else { return nil }
        return around.path == folder ? nil : found.path
    }

    var named: NamedVault? {
        if case .named(let vault) = self { vault } else { nil }
    }

    /// The folder of the vault, or what was typed.
    var vaultPath: Path {
        switch self {
        case .path(let path): path
        case .named(let vault): vault.folderPath
        }
    }
}

/// The path of the device key: the one that was typed, else the one that the configuration has for a named vault. Nil
/// for the default path.
func deviceKeyPath(_ typed: Path?, of word: Path) throws(CommandError) -> Path? {
    if let typed { return typed }
    return try VaultWord(word).named?.keyPath
}

extension NamedVault {
    // The configuration is text; so are its paths.

    var folderPath: Path { Path(folder) }
    var point: Path { Path(mountPoint) }
    /// The path of the device key.
    var keyPath: Path? { deviceKey.map { Path($0) } }
}

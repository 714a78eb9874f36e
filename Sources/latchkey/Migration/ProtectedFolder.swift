import Administration
import Control
import Glibc
import Posix
import VaultNames

/// A vault, and the folder on which it is mounted or was mounted.
struct ProtectedFolder {
    let folder: Path
    let mountPoint: Path
    /// Nil for a vault that is not in the configuration.
    let name: String?
    let deviceKey: Path?

    /// The folder of an interrupted `unprotect`; nil if there was none. An interrupted `protect` is an error.
    static func interrupted(_ word: Path) throws(CommandError) -> MigratedFolder? {
        var place = word
        if let named = try VaultWord(word).named {
            place = named.point
        } else if let known = try KnownFolder.path(of: word) {
            place = known
        }
        guard let target = try? MigratedFolder(place), let record = try target.record() else { return nil }
        guard record.direction == .unprotect else {
            throw CommandError(
                .failed, "\(target.path.path) is not wholly protected yet",
                try: "latchkey protect \(target.path.path.quoted)   (to go on)",
                "latchkey protect --undo \(target.path.path.quoted)   (to go back)")
        }
        return target
    }

    /// By the vault's name, by a word for a folder, by the path of the mount point, or by that of the vault.
    init(_ word: Path) throws(CommandError) {
        if let named = try VaultWord(word).named {
            self.init(named)
            return
        }
        let typed = try KnownFolder.path(of: word) ?? word
        let path = AbsolutePath(lexically: typed).path
        let resolved = (try? AbsolutePath(resolving: typed))?.path ?? path
        let vaults: NamedVaults
        do { vaults = try NamedVaults.load() } catch { throw CommandError(error) }
        let known = vaults.vaults.first { vault in
            [vault.point, vault.folderPath].contains { $0 == path || $0 == resolved }
        }
        if let known {
            self.init(known)
            return
        }
        let mount = try PathArgument.mount(of: typed)
        guard mount.status.mountPoint == resolved || mount.status.vault == resolved else {
            throw CommandError(
                .failed, "\(word) lies in the protected folder \(mount.status.mountPoint)",
                try: "latchkey unprotect \(mount.status.mountPoint.quoted)")
        }
        self.init(mount.status.vault, mount.status.mountPoint, nil, mount.status.deviceKeyFile)
    }

    private init(_ vault: NamedVault) {
        self.init(vault.folderPath, vault.point, vault.name.text, vault.keyPath)
    }

    private init(_ folder: Path, _ mountPoint: Path, _ name: String?, _ deviceKey: Path?) {
        self.folder = folder
        self.mountPoint = mountPoint
        self.name = name
        self.deviceKey = deviceKey
    }
}

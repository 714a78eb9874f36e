import Administration
import Glibc
import Posix
import VaultNames

/// The name of a vault that is to be made, with its folder and mount point.
struct NewName {
    let vault: NamedVault
    /// Whether the configuration has its table already.
    private let isInFile: Bool
    private let file: String

    /// Checks everything that can be wrong with it; changes nothing yet.
    ///
    /// - Parameters:
    ///   - folder: what the user typed as VAULT; nil for the folder of the table, else for one in the user's data.
    ///   - mountPoint: what the user typed; nil for that of the table, else for `~/NAME`.
    init(_ name: String, folder: Path?, mountPoint: Path?) throws(CommandError) {
        guard let checked = VaultName(name) else {
            let problem = VaultName.problem(with: name) ?? ""
            throw CommandError(.usage, "\(name) is no name for a vault: a name \(problem)")
        }
        let named = try NamedVaults.loaded()
        let folders = UserFolders()
        file = named.path
        let folder = try folder.map { (folder) throws(CommandError) in try Self.text(folder, "vault's folder") }
        let mountPoint = try mountPoint.map { (point) throws(CommandError) in try Self.text(point, "mount point") }
        if let known = named[checked.text] {
            guard folder?.utf8.elementsEqual(known.folder.utf8) ?? true,
                mountPoint?.utf8.elementsEqual(known.mountPoint.utf8) ?? true,
                (try? AbsolutePath(ofVault: known.folderPath)) == nil
            else {
                throw CommandError(
                    .failed,
                    "the name \(name) is taken: it is that of the vault \(known.folder) in \(named.path), "
                        + "line \(known.line)",
                    try: "latchkey list")
            }
            vault = known
            isInFile = true
        } else {
            vault = NamedVault(
                checked, folder: folder ?? "\(folders.data)/vaults/\(name)",
                mountPoint: mountPoint ?? "\(folders.home == "/" ? "" : folders.home)/\(name)")
            isInFile = false
            do throws(NamedVaultsError) { try named.check(vault) } catch { throw CommandError(.failed, "\(error)") }
        }
        try checkMountPoint()
    }

    /// The absolute path as the configuration can have it.
    private static func text(_ path: Path, _ what: Printable) throws(CommandError) -> String {
        let absolute = try inWords(try AbsolutePath(ofPerhapsMissing: path)).path
        if let text = absolute.text { return text }
        throw CommandError(
            .failed,
            "the \(what) \(absolute) is not UTF-8, and the configuration is text: a vault with it gets no name; "
                + "nothing was made",
            try: "latchkey init VAULT   (without a name: other commands take its path)")
    }

    /// A mount point with something in it would be found out only by the first mount.
    private func checkMountPoint() throws(CommandError) {
        let point = vault.point
        do throws(Errno) {
            guard try !BareMountPoint(point).isEmpty() else { return }
        } catch {
            if error == .ENOENT { return }
            guard error == .ENOTDIR else { throw CommandError(cannot: "look into", point, error) }
        }
        throw CommandError(
            .failed, "the mount point \(point) is not an empty folder; nothing was made",
            try: "latchkey init --name \(vault.name.text.quoted) --mount DIR")
    }

    /// Throws for a device key elsewhere than in the table, or one that the table cannot name: by the name it would not
    /// be found.
    func check(deviceKey: Path?) throws(CommandError) {
        if let deviceKey, AbsolutePath(lexically: deviceKey).path.text == nil {
            throw CommandError(
                .usage, "the configuration is UTF-8, and cannot name the device key \(deviceKey); nothing was made",
                try: "the same with another --device-key")
        }
        guard isInFile, let deviceKey, AbsolutePath(lexically: deviceKey).path != vault.keyPath else { return }
        throw CommandError(
            .usage,
            "the table of the vault \(vault.name) has no such device key (\(file), line \(vault.line)); nothing was made",
            try: "device-key = \"\(AbsolutePath(lexically: deviceKey).path)\"   (a line of the table)")
    }

    /// Makes the folders above the vault's own, with mode 0700.
    func makeParents() throws(CommandError) {
        guard let parent = AbsolutePath(known: vault.folderPath).parent else { return }
        try makeFolders(parent.path, "make the folder")
    }

    /// Writes the table, and makes the mount point if it is missing, closed.
    ///
    /// - Parameter deviceKey: where the device key is, if that is not the default path.
    func keep(deviceKey: Path?) throws(CommandError) {
        var vault = vault
        vault.deviceKey = deviceKey.flatMap { AbsolutePath(lexically: $0).path.text }
        let made = try MadeMountPoint(vault.point)
        if made != nil { vault.guardsMountPoint = true }
        do throws(NamedVaultsError) {
            if !isInFile { try NamedVaults.append(vault) }
        } catch {
            made?.remove()
            throw CommandError(
                .failed, "the vault \(vault.folder) is made, but it has no name: \(error)",
                try: "latchkey mount --unlock \(vault.folder.quoted) DIR")
        }
        do throws(Errno) { try made?.close() } catch {
            throw CommandError(cannot: "close the mount point", vault.point, error)
        }
    }
}

import Administration
import Control
import Failure
import Glibc
import Keybag
import Migration
import Posix
import Store
import VaultNames

/// A folder that is, or was, or is to be protected, with the place of its workspace.
struct MigratedFolder {
    /// What the user typed.
    let typed: Path
    let path: AbsolutePath
    let parent: Path
    let name: Name
    let workspace: Name

    /// Finds the folder; checks nothing else.
    init(_ word: Path) throws(CommandError) {
        typed = word
        let given = try KnownFolder.path(of: word) ?? word
        path = try inWords(try AbsolutePath(resolving: given))
        guard let parent = path.parent, let name = path.path.lastName else {
            throw CommandError(.failed, "the root of the file system cannot be protected")
        }
        guard let workspace = Workspace.name(for: name) else {
            throw CommandError(
                .failed, "the name of \(path.path) is too long: there is no room for a workspace beside it",
                try: "mv \(path.path.quoted) to a shorter name, and the same again")
        }
        (self.parent, self.name, self.workspace) = (parent.path, name, workspace)
    }

    var workspacePath: Path { parent.asFolder + Path(bytes: workspace.bytes) }
    /// Where the originals are kept, if they are.
    var unprotectedPath: Path { path.path + ".unprotected" }
    /// Where a new vault lies until the migration has ended.
    var vaultInWorkspace: Path { workspacePath + "/vault" }

    /// The folder that holds both.
    func store() throws(CommandError) -> DirectoryStore {
        do throws(Errno) { return try DirectoryStore(path: parent) } catch {
            throw CommandError(cannot: "open", parent, error)
        }
    }

    /// What an interrupted run has noted; nil if there was none.
    func record() throws(CommandError) -> MigrationRecord? {
        let store = try store()
        let fields: [String: String]?
        do throws(Errno) {
            let folder = try Workspace.open(workspace, in: store.root, store)
            fields = try Workspace.record(in: folder, store)
        } catch {
            if error == .ENOENT { return nil }
            throw CommandError(cannot: "look into", workspacePath, error)
        }
        guard let fields else { return nil }
        guard let record = MigrationRecord(fields) else {
            throw CommandError(
                .failed, "\(workspacePath)/record is not what latchkey writes",
                try: "ls -la \(workspacePath.quoted)")
        }
        return record
    }

    /// Throws if a file that is needed to open the vault, or to see what was done, would be moved into it.
    func refuse(holding files: [Path?]) throws(CommandError) {
        for file in files.compactMap({ $0 }) {
            guard let place = try? AbsolutePath(ofPerhapsMissing: file).path, place.isInside(path.path) else {
                continue
            }
            throw CommandError(
                .usage, "\(file) lies in \(typed), and would be moved into the vault; nothing was done",
                try: "the same with a file elsewhere")
        }
    }

    // MARK: What cannot be protected

    /// The vault that is mounted on the folder, or has it as its mount point; nil if there is none.
    func protection() throws(CommandError) -> (name: String?, isMounted: Bool)? {
        let vaults: NamedVaults
        do { vaults = try NamedVaults.load() } catch { throw CommandError(error) }
        let named = vaults.vaults.first { $0.point == path.path }?.name.text
        let isMounted = try inWords(try MountTable()).mount(at: path.path)?.isLatchkey ?? false
        return isMounted || named != nil ? (named, isMounted) : nil
    }

    /// Throws for a folder that cannot be protected, whatever is in it.
    func refuse() throws(CommandError) {
        let folders = UserFolders()
        let (home, own) = (Path(folders.home), [Path(folders.configuration), Path(folders.data)])
        var status = stat()
        guard path.path.status(&status) == 0, FileStatus(status).kind == .directory else {
            throw CommandError(.failed, "\(typed) is not a folder")
        }
        let mounts = try inWords(try MountTable())
        if let mount = mounts.mount(at: path.path) {
            guard !mount.isLatchkey else {
                throw CommandError(
                    .failed, "\(typed) is protected already: a vault is mounted on it",
                    try: "latchkey status \(path.path.quoted)")
            }
            throw CommandError(
                .failed, "\(typed) is a mount of its own, of type \(mount.type): nothing can lie beside it",
                try: "latchkey protect FOLDER   (one in it)")
        }
        if let mount = mounts.mount(holding: path.path), mount.isLatchkey {
            throw CommandError(
                .failed, "\(typed) lies in the vault \(mount.source), which protects it",
                try: "latchkey class get \(path.path.quoted)")
        }
        let vaults: NamedVaults
        do { vaults = try NamedVaults.load() } catch { throw CommandError(error) }
        if let named = vaults.vaults.first(where: { $0.point == path.path }) {
            throw CommandError(
                .failed, "\(typed) is protected already, by the vault \(named.name.text), which is not mounted",
                try: "latchkey open \(named.name.text.quoted)")
        }
        if let inner = mounts.entries.first(where: { $0.mountPoint.lies(in: path.path) }) {
            throw CommandError(
                .failed, "\(typed) has another file system in it, which cannot be moved: \(inner.mountPoint)",
                try: "umount \(inner.mountPoint.quoted), and the same again")
        }
        let kind = StoreKind(of: try store())
        guard kind.isLocal else {
            throw CommandError(
                .failed, "\(typed) lies on a file system of a network, \(kind.engine): what is moved there may be lost",
                try: "latchkey init VAULT   (there, and copy the files)")
        }
        var above = stat()
        guard parent.status(&above) == 0, above.st_dev == status.st_dev else {
            throw CommandError(
                .failed, "\(typed) is a subvolume of its own: files cannot be moved out of it by renaming",
                try: "latchkey protect FOLDER   (one in it)")
        }
        if let vault = PathArgument.vault(around: path) {
            throw CommandError(.failed, "\(typed) is the vault \(vault.path), or lies in it: it is ciphertext already")
        }
        if home.isInside(path.path) {
            throw CommandError(
                .failed, "\(typed) holds all of the home \(home): the desktop, and latchkey itself, need files in it",
                try: "latchkey protect documents pictures   (a folder at a time)")
        }
        let state = Path(DeviceKeyFile.stateFolder())
        if let held = (own + [state]).first(where: { $0.isInside(path.path) || path.path.isInside($0) }) {
            throw CommandError(.failed, "\(typed) holds \(held), which latchkey needs to open the vault")
        }
        guard parent.access(W_OK | X_OK) == 0 else {
            throw CommandError(
                .failed, "this user may not make a folder beside \(typed), in \(parent)",
                try: "sudo latchkey protect \(path.path.quoted)")
        }
    }
}

import Administration
import Control
import Failure
import Glibc
import Keybag
import Posix
import Store

/// What the path that the user typed belongs to.
enum PathArgument {
    /// A mount whose daemon answers, reached through the mount or through its vault.
    case mount(ServedMount)
    /// A vault that this user has not mounted.
    case vault(AbsolutePath)
    /// A Latchkey mount whose daemon does not answer.
    case orphan(MountTable.Entry)

    /// Finds out what `path`, or a folder above it, is.
    ///
    /// The mount table is read first: it also shows a mount whose daemon is dead, and a path in a mount never belongs
    /// to a vault that contains the mount point.
    ///
    /// - Parameters:
    ///   - word: a path, or the name of a vault.
    ///   - destroys: as in `VaultWord`.
    static func of(_ word: Path, destroys: Bool = false) throws(CommandError) -> PathArgument {
        switch try VaultWord(word, destroys: destroys) {
        case .named(let vault): return try of(vault)
        case .path(let path): return try of(path: path)
        }
    }

    private static func of(path: Path) throws(CommandError) -> PathArgument {
        let mounts = try inWords(try MountTable())
        // For a mount point as in the table, no file is looked up, since that could wait for a slow disk: a lock must
        // not wait.
        if !path.components.contains(where: { $0.elementsEqual("..".utf8) }),
            let entry = mounts.mount(at: AbsolutePath(lexically: path).path), entry.isLatchkey
        {
            return served(entry)
        }
        let resolved: AbsolutePath
        do {
            resolved = try inWords(try AbsolutePath(resolving: path))
        } catch {
            if let entry = mounts.mount(holding: AbsolutePath(lexically: path).path), entry.isLatchkey {
                let argument = served(entry)
                // In a working mount, a path that does not exist is the user's mistake, not the mount's.
                guard case .mount = argument, isNowhere(path) else { return argument }
            }
            throw CommandError(.notFound, error.message, try: "latchkey status")
        }
        if let entry = mounts.mount(holding: resolved.path), entry.isLatchkey {
            return served(entry)
        }
        guard let vault = vault(around: resolved) else {
            // It was unmounted lazily, and is still in use.
            if let mount = SocketDirectories.reachable.mounts()
                .first(where: { $0.status.ending == true && $0.status.mountPoint == resolved.path })
            {
                return .mount(mount)
            }
            if let hindrance = resolved.hindrance { throw CommandError(cannot: "look into", path, hindrance) }
            if let lost = lostKeybag(around: resolved, path) { throw CommandError(lost) }
            throw CommandError(
                .notFound, "\(path) is neither in a Latchkey mount nor a vault", try: "latchkey status",
                "latchkey mount VAULT DIR")
        }
        if let mount = try mount(ofVault: vault) { return .mount(mount) }
        return .vault(vault)
    }

    private static func isNowhere(_ path: Path) -> Bool {
        var status = stat()
        return path.status(&status) != 0 && [.ENOENT, .ENOTDIR, .ELOOP, .ENAMETOOLONG].contains(Errno.current)
    }

    static func served(_ entry: MountTable.Entry) -> PathArgument {
        // Another user's daemon may pretend to serve this mount.
        guard let mount = SocketDirectories.reachable.mount(device: entry.device, of: entry.user) else {
            return .orphan(entry)
        }
        return .mount(mount)
    }

    /// The mount of a vault: by its volume ID, or by asking all daemons if its keybag cannot be read or a copy of it is
    /// mounted.
    static func mount(ofVault vault: AbsolutePath) throws(CommandError) -> ServedMount? {
        if let store = try? DirectoryStore(path: vault.path), let file = try? OpenKeybag.inspect(store),
            let mount = SocketDirectories.reachable.mount(volume: "\(file.volume)"),
            mount.status.vault == vault.path
        {
            return mount
        }
        do { return try SocketDirectories.reachable.mount(of: vault.path) } catch { throw CommandError(error) }
    }

    /// The mount with this earlier status, over a new connection; nil if no daemon serves it any more.
    static func mount(again status: Status) -> ServedMount? {
        SocketDirectories.reachable.mounts(volume: status.volume).first { $0.status.vault == status.vault }
    }

    /// The mount that `path` belongs to. If there is none, throws, with advice.
    static func mount(of path: Path) throws(CommandError) -> ServedMount {
        switch try of(path) {
        case .mount(let mount):
            return mount
        case .vault(let vault):
            let name = try VaultWord(path).named?.name.text
            throw CommandError(
                .notFound, "the vault \(vault.path) is not mounted",
                try: name.map { "latchkey open \($0.quoted)" } ?? "latchkey mount \(vault.path.quoted) DIR")
        case .orphan(let entry):
            throw SilentMount(entry).error
        }
    }

    /// The vault that `path` belongs to, mounted or not.
    static func vault(of path: Path) throws(CommandError) -> AbsolutePath {
        switch try of(path) {
        case .mount(let mount): AbsolutePath(known: mount.status.vault)
        case .vault(let vault): vault
        case .orphan(let entry): AbsolutePath(known: entry.source)
        }
    }

    /// All mounts of this user, or for root of all users, by mount point: those whose daemons answer, and the others.
    static func all() throws(CommandError) -> (served: [ServedMount], silent: [SilentMount]) {
        for _ in 0..<10 {
            let found = try allNow()
            if found.silent.allSatisfy(\.isConclusive) { return found }
            // A mount has no socket for a moment after its start, and none before its end.
            usleep(100_000)
        }
        return try allNow()
    }

    private static func allNow() throws(CommandError) -> (served: [ServedMount], silent: [SilentMount]) {
        let served = SocketDirectories.reachable.mounts().sorted { $0.status.mountPoint < $1.status.mountPoint }
        let user = geteuid()
        let silent = try inWords(try MountTable()).entries.filter { entry in
            let isServed = served.contains {
                $0.status.device == entry.device && (entry.user == nil || entry.user == $0.owner)
            }
            return entry.isLatchkey && !isServed && (user == 0 || entry.user == user)
        }
        // Each is asked once more, for why it does not answer.
        return (
            served, silent.sorted { $0.mountPoint < $1.mountPoint }.mapInParallel(threads: 64) { SilentMount($0) }
        )
    }

    /// Why the vault that `path` is, or lies in, has no keybag; nil if there is no such vault.
    static func lostKeybag(around path: AbsolutePath, _ typed: Path) -> Failure? {
        var folder = path
        while true {
            if let lost = folder.lostKeybag(as: folder.path == path.path ? typed : folder.path) { return lost }
            guard let parent = folder.parent else { return nil }
            folder = parent
        }
    }

    /// The vault that `path` is, or lies in.
    static func vault(around path: AbsolutePath) -> AbsolutePath? {
        var folder = path
        while !folder.isVault {
            guard let parent = folder.parent else { return nil }
            folder = parent
        }
        return folder
    }
}

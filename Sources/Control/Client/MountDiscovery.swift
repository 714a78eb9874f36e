public import Failure
import Glibc
public import Posix
import Synchronization

/// A mount whose daemon answers: a connection to it, and its status at that moment.
public struct ServedMount: Sendable {
    public let client: ControlClient
    public let status: Status
    /// The owner of the socket: this user, another one, or root. The status is only as trustworthy as that user.
    public let owner: UInt32
}

extension SocketDirectories {
    /// All mounts whose daemons answer, this user's first. Sockets of dead daemons are removed.
    ///
    /// The daemons are asked at once: this takes as long as the slowest of them. Of another user's folder with many
    /// daemons that do not answer, not all are asked.
    public func mounts() -> [ServedMount] {
        let user = geteuid()
        let silent = SilentDaemons()
        return sockets.mapInParallel(threads: Self.threads) { socket in
            guard socket.folder.owner == user || silent.count(in: socket.folder) < Self.mostSilent else { return nil }
            switch socket.folder.mount(at: socket.path) {
            case .success(let mount): return mount
            case .failure:
                silent.add(socket.folder)
                return nil
            }
        }.compactMap(\.self)
    }

    /// All sockets, this user's first. Those of other users take turns: none of them can put his before another's.
    var sockets: [(folder: SocketDirectory, path: String)] {
        let user = geteuid()
        let all = folders.map { folder in ((try? folder.sockets()) ?? []).map { (folder: folder, path: $0) } }
        let others = all.filter { $0.first?.folder.owner != user }
        let turns = (0..<(others.map(\.count).max() ?? 0)).flatMap { turn in
            others.compactMap { turn < $0.count ? $0[turn] : nil }
        }
        return all.filter { $0.first?.folder.owner == user }.flatMap(\.self) + turns
    }

    static let threads = 64
    /// Another user can make any number of sockets that do not answer.
    private static let mostSilent = 64

    /// The mount in which a path lies, or whose vault is the folder at that path; nil if there is none.
    ///
    /// - Throws: `io` if stat(2) of the path fails.
    public func mount(of path: Path) throws(Failure) -> ServedMount? {
        var status = stat()
        guard path.status(&status) == 0 else { throw .socket(.current, doing: "look at \(path)") }
        let device = UInt64(status.st_dev)
        if let mount = linked(device: device) { return mount }
        return mounts().first { $0.status.device == device || isVault($0.status.vault, status) }
    }

    /// The mount whose files have this `st_dev`; nil if no daemon that serves it answers.
    ///
    /// - Parameter owner: the user who mounted it, according to the kernel; nil if the kernel does not say. Only that
    ///   user's daemons and root's are asked.
    public func mount(device: UInt64, of owner: UInt32? = nil) -> ServedMount? {
        let reachable = SocketDirectories(folders.filter { owner == nil || $0.owner == owner })
        return reachable.linked(device: device) ?? reachable.mounts().first { $0.status.device == device }
    }

    /// Why the daemon that serves this `st_dev` does not answer, as its socket shows; nil if no reason is known.
    public func failure(device: UInt64, of owner: UInt32? = nil) -> Failure? {
        for folder in folders where owner == nil || folder.owner == owner {
            switch folder.mount(at: folder.link(device: device)) {
            case .success: return nil
            case .failure(.socket(.ENOENT, _)): continue
            case .failure(let error): return error
            }
        }
        return nil
    }

    /// The mount of a volume, given by its ID in hexadecimal; nil if no daemon serves it.
    public func mount(volume: String) -> ServedMount? {
        first(at: { $0.socket(volume: volume) }, where: { _ in true })
    }

    /// The mounts of a volume: that of a vault, and those of copies of it.
    public func mounts(volume: String) -> [ServedMount] {
        folders.flatMap { folder in
            ((try? folder.sockets()) ?? []).filter { $0.hasPrefix("\(folder.path)/\(volume)") }
                .compactMap { try? folder.mount(at: $0).get() }
        }
    }

    /// Finds the daemon of a device by a link's name: asking all daemons takes as long as the slowest of them.
    private func linked(device: UInt64) -> ServedMount? {
        first(at: { $0.link(device: device) }, where: { $0.status.device == device })
    }

    /// Asks each daemon once: it may end before a second question, which a lazy sequence would ask.
    private func first(
        at socket: (SocketDirectory) -> String, where isWanted: (ServedMount) -> Bool
    ) -> ServedMount? {
        for folder in folders {
            if let mount = try? folder.mount(at: socket(folder)).get(), isWanted(mount) { return mount }
        }
        return nil
    }

    private func isVault(_ path: Path, _ status: stat) -> Bool {
        var vault = stat()
        return path.status(&vault) == 0 && vault.st_dev == status.st_dev && vault.st_ino == status.st_ino
    }
}

extension SocketDirectory {
    /// Root asks every user's daemons. A daemon that names another user's vault could attract root's commands for that
    /// vault.
    private func isBelieved(_ answer: Status) -> Bool {
        guard owner != geteuid() else { return true }
        var vault = stat()
        return answer.vault.linkStatus(&vault) == 0 && vault.st_uid == owner && vault.st_mode & S_IFMT == S_IFDIR
    }

    /// A daemon that does not answer, or has just ended, must not hide the others.
    func mount(at socket: String) -> Result<ServedMount, Failure> {
        do throws(Failure) {
            let client = try ControlClient(socket: socket, of: owner)
            let status = try client.status()
            guard isBelieved(status) else { return .failure(.permissionDenied) }
            return .success(ServedMount(client: client, status: status, owner: owner))
        } catch {
            if case .socket(.ECONNREFUSED, _) = error { removeIfDead(socket) }
            return .failure(error)
        }
    }
}

/// How many daemons did not answer, by folder. A leaf: no other lock is taken under it. Lock order:
/// docs/ARCHITECTURE.md.
private final class SilentDaemons: Sendable {
    private let counts = Mutex<[SocketDirectory: Int]>([:])

    func count(in folder: SocketDirectory) -> Int { counts.withLock { $0[folder] ?? 0 } }

    func add(_ folder: SocketDirectory) { counts.withLock { $0[folder, default: 0] += 1 } }
}

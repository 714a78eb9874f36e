public import Failure
import Glibc
import Posix

/// A mount that answers: a connection to its daemon, and its status at that moment.
public struct ServedMount: Sendable {
    public let client: ControlClient
    public let status: Status
    /// The user who owns the socket, or root: what the status says is that user's word.
    public let owner: UInt32
}

extension SocketDirectories {
    /// All mounts whose daemons answer. Sockets that dead daemons have left are removed on the way.
    public func mounts() -> [ServedMount] {
        folders.flatMap { folder in
            ((try? folder.sockets()) ?? []).compactMap { try? folder.mount(at: $0).get() }
        }
    }

    /// The mount that a path lies in, or whose vault is the folder at that path; nil if it is neither.
    ///
    /// - Throws: `io` when the path cannot be looked up.
    public func mount(of path: String) throws(Failure) -> ServedMount? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .socket(.current, doing: "look at \(path)") }
        let device = UInt64(status.st_dev)
        if let mount = linked(device: device) { return mount }
        return mounts().first { $0.status.device == device || isVault($0.status.vault, status) }
    }

    /// The mount whose files have this `st_dev`; nil if no daemon that serves it answers.
    ///
    /// - Parameter owner: the user who has mounted it, as the kernel says; a daemon of another, root's excepted, is not
    ///   believed that it serves it. Nil where the kernel does not say.
    public func mount(device: UInt64, of owner: UInt32? = nil) -> ServedMount? {
        let reachable = SocketDirectories(folders.filter { owner == nil || $0.owner == owner })
        return reachable.linked(device: device) ?? reachable.mounts().first { $0.status.device == device }
    }

    /// Why the daemon that serves this `st_dev` does not answer, as far as its socket tells; nil where none is known.
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

    /// The mount of a volume, whose ID is given in hexadecimal; nil if no daemon serves it.
    public func mount(volume: String) -> ServedMount? {
        first(at: { $0.socket(volume: volume) }, where: { _ in true })
    }

    /// Asking all daemons takes as long as the slowest of them; the one that serves a device is known by name.
    private func linked(device: UInt64) -> ServedMount? {
        first(at: { $0.link(device: device) }, where: { $0.status.device == device })
    }

    /// Each daemon is asked once: it may end before a second question, which a lazy sequence would ask.
    private func first(
        at socket: (SocketDirectory) -> String, where isWanted: (ServedMount) -> Bool
    ) -> ServedMount? {
        for folder in folders {
            if let mount = try? folder.mount(at: socket(folder)).get(), isWanted(mount) { return mount }
        }
        return nil
    }

    private func isVault(_ path: String, _ status: stat) -> Bool {
        var vault = stat()
        return unsafe stat(path, &vault) == 0 && vault.st_dev == status.st_dev && vault.st_ino == status.st_ino
    }
}

extension SocketDirectory {
    /// Root asks every user's daemons. One that names another user's vault would have root's commands meant for that
    /// vault.
    private func isBelieved(_ answer: Status) -> Bool {
        guard owner != geteuid() else { return true }
        var vault = stat()
        return unsafe lstat(answer.vault, &vault) == 0 && vault.st_uid == owner
    }

    /// A daemon that does not answer, or has ended meanwhile, must not stand in the way of the others.
    fileprivate func mount(at socket: String) -> Result<ServedMount, Failure> {
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

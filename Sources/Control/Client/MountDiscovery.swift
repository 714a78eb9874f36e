public import Failure
import Glibc
import Posix

/// A mount whose daemon answers: a connection to it, and its status at that moment.
public struct ServedMount: Sendable {
    public let client: ControlClient
    public let status: Status
    /// The owner of the socket: this user, another one, or root. The status is only as trustworthy as that user.
    public let owner: UInt32
}

extension SocketDirectories {
    /// All mounts whose daemons answer. Sockets of dead daemons are removed.
    public func mounts() -> [ServedMount] {
        folders.flatMap { folder in
            ((try? folder.sockets()) ?? []).compactMap { try? folder.mount(at: $0).get() }
        }
    }

    /// The mount in which a path lies, or whose vault is the folder at that path; nil if there is none.
    ///
    /// - Throws: `io` if stat(2) of the path fails.
    public func mount(of path: String) throws(Failure) -> ServedMount? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .socket(.current, doing: "look at \(path)") }
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

    private func isVault(_ path: String, _ status: stat) -> Bool {
        var vault = stat()
        return unsafe stat(path, &vault) == 0 && vault.st_dev == status.st_dev && vault.st_ino == status.st_ino
    }
}

extension SocketDirectory {
    /// Root asks every user's daemons. A daemon that names another user's vault could attract root's commands for that
    /// vault.
    private func isBelieved(_ answer: Status) -> Bool {
        guard owner != geteuid() else { return true }
        var vault = stat()
        return unsafe lstat(answer.vault, &vault) == 0 && vault.st_uid == owner
    }

    /// A daemon that does not answer, or has just ended, must not hide the others.
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

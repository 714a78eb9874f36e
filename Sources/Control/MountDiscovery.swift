import Glibc
import Posix

/// A mount that answers: a connection to its daemon, and its status at that moment.
public struct ServedMount: Sendable {
    public let client: ControlClient
    public let status: Status
}

extension SocketDirectory {
    /// All mounts whose daemons answer. Sockets that dead daemons have left are removed on the way.
    public func mounts() throws(ControlError) -> [ServedMount] {
        try sockets().compactMap { socket in mount(at: socket) }
    }

    /// The mount that a path lies in, or whose vault is the folder at that path; nil if it is neither.
    ///
    /// - Throws: `io` when the path cannot be looked up.
    public func mount(of path: String) throws(ControlError) -> ServedMount? {
        var place = stat()
        guard unsafe stat(path, &place) == 0 else { throw .io(.current, doing: "look at \(path)") }
        let device = UInt64(place.st_dev)
        if let mount = try linked(device: device) { return mount }
        return try first { $0.device == device || isVault($0.vault, place) }
    }

    /// The mount whose files have this `st_dev`; nil if no daemon serves it.
    public func mount(device: UInt64) throws(ControlError) -> ServedMount? {
        if let mount = try linked(device: device) { return mount }
        return try first { $0.device == device }
    }

    /// Asking all daemons takes as long as the slowest of them; the one that serves a device is known by name.
    private func linked(device: UInt64) throws(ControlError) -> ServedMount? {
        guard try open() != nil, let mount = mount(at: link(device: device)), mount.status.device == device else {
            return nil
        }
        return mount
    }

    private func first(where isWanted: (Status) -> Bool) throws(ControlError) -> ServedMount? {
        for socket in try sockets() {
            if let mount = mount(at: socket), isWanted(mount.status) { return mount }
        }
        return nil
    }

    private func isVault(_ path: String, _ place: stat) -> Bool {
        var vault = stat()
        return unsafe stat(path, &vault) == 0 && vault.st_dev == place.st_dev && vault.st_ino == place.st_ino
    }

    /// The mount of a volume, whose ID is given in hexadecimal; nil if no daemon serves it.
    public func mount(volume: String) throws(ControlError) -> ServedMount? {
        guard try open() != nil else { return nil }
        return mount(at: socket(volume: volume))
    }

    /// A daemon that does not answer, or has ended meanwhile, is left out: it must not stand in the way of the others.
    private func mount(at socket: String) -> ServedMount? {
        do {
            let client = try ControlClient(socket: socket)
            return ServedMount(client: client, status: try client.status())
        } catch .io(.ECONNREFUSED, _) {
            removeIfDead(socket)
            return nil
        } catch {
            return nil
        }
    }
}

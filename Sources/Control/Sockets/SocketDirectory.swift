public import Failure
import Glibc
import Posix

/// The folder with the control sockets of one user's daemons.
///
/// It belongs to the user and has mode 0700. This is checked at each use: in /tmp another user may have made a folder
/// of that name.
public struct SocketDirectory: Hashable, Sendable {
    public let path: String
    /// The user who owns the daemons.
    let owner: UInt32

    public init(path: String) {
        self.init(path: path, owner: geteuid())
    }

    init(path: String, owner: UInt32) {
        self.path = path
        self.owner = owner
    }

    /// Where a daemon of this user puts its socket: /run/latchkey for root; for others /tmp/latchkey-UID, or
    /// /tmp/latchkey-UID.N if another user has made a folder of that name.
    ///
    /// Not in $XDG_RUNTIME_DIR: logind removes that when the user logs out, while the daemon goes on.
    public static var standard: SocketDirectory {
        let user = geteuid()
        if user == 0 { return root }
        let all = temporary(of: user)
        if let usable = all.first(where: \.isUsable) { return usable }
        let first = SocketDirectory(path: "\(temporaryFolder)/\(temporaryPrefix)\(user)", owner: user)
        guard all.contains(first) else { return first }
        return SocketDirectory(path: "\(first.path).\(UInt32.random(in: 1 ... .max))", owner: user)
    }

    static let root = SocketDirectory(path: "/run/latchkey", owner: 0)
    static let temporaryFolder = "/tmp"
    private static let temporaryPrefix = "latchkey-"

    /// The folders in /tmp that have the name of one of this user's, whichever user made them.
    static func temporary(of user: UInt32) -> [SocketDirectory] {
        SocketDirectories.names(in: temporaryFolder).filter { owner(ofTemporary: $0) == user }.map {
            SocketDirectory(path: "\(temporaryFolder)/\($0)", owner: user)
        }
    }

    /// The user whose sockets a folder of this name in /tmp holds; nil for any other name.
    static func owner(ofTemporary name: String) -> UInt32? {
        guard name.hasPrefix(temporaryPrefix) else { return nil }
        let parts = name.dropFirst(temporaryPrefix.count).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.count == 1 || UInt32(parts[1]) != nil else { return nil }
        return UInt32(parts[0])
    }

    /// Whether it exists, belongs to the user, and is closed to others.
    var isUsable: Bool { (try? open()) != nil }

    /// The path of a volume's socket.
    public func socket(volume: String) -> String {
        "\(path)/\(volume)\(Self.suffix)"
    }

    private static let suffix = ".socket"

    /// The path of the link to the socket that serves the mount with this `st_dev`.
    func link(device: UInt64) -> String {
        "\(path)/\(Self.linkPrefix)\(device)"
    }

    private static let linkPrefix = "device-"

    /// Removes a socket and the link to it. If the link leads to another socket by now, it stays.
    func withdraw(volume: String, device: UInt64?) {
        _ = unsafe unlink(socket(volume: volume))
        guard let device else { return }
        if target(of: link(device: device)) == volume + Self.suffix { _ = unsafe unlink(link(device: device)) }
    }

    /// The target of a link; nil if it is not a symbolic link.
    private func target(of link: String) -> String? {
        var target = [UInt8](repeating: 0, count: 256)
        let count = unsafe readlink(link, &target, target.count)
        return count > 0 ? String(decoding: target.prefix(count), as: UTF8.self) : nil
    }

    /// Removes the links to sockets that are gone, and those to `socket`, under the folder's lock: the kernel reuses
    /// the `st_dev` of a mount that has ended.
    private func removeLinks(to socket: String? = nil, in directory: Descriptor) {
        for name in SocketDirectories.names(in: "/proc/self/fd/\(directory.number)") {
            guard name.hasPrefix(Self.linkPrefix), let target = target(of: "\(path)/\(name)") else { continue }
            var status = stat()
            let isGone = unsafe lstat("\(path)/\(target)", &status) != 0 && Errno.current == .ENOENT
            if isGone || target == socket { _ = unsafe unlink("\(path)/\(name)") }
        }
    }

    /// Removes the sockets of killed daemons, under the folder's lock.
    private func removeOrphans(in directory: Descriptor) {
        for name in SocketDirectories.names(in: "/proc/self/fd/\(directory.number)") where name.hasSuffix(Self.suffix) {
            if isDead("\(path)/\(name)") { _ = unsafe unlink("\(path)/\(name)") }
        }
    }

    /// All sockets, also those of dead daemons, sorted by name; none if the folder is missing.
    public func sockets() throws(Failure) -> [String] {
        guard let directory = try open() else { return [] }
        let names = SocketDirectories.names(in: "/proc/self/fd/\(directory.number)")
        withExtendedLifetime(directory) {}
        return names.filter { $0.hasSuffix(Self.suffix) }.map { "\(path)/\($0)" }
    }

    /// Makes the folder if it is missing.
    func make() throws(Failure) {
        if unsafe mkdir(path, 0o700) != 0 {
            let errno = Errno.current
            if errno != .EEXIST { throw .socket(errno, doing: "make \(path)") }
        }
    }

    /// Makes the folder if it is missing, and refuses one that belongs to another user, or that other users may enter.
    public func prepare() throws(Failure) {
        try make()
        guard try open() != nil else { throw .socket(.ENOENT, doing: "open \(path)") }
    }

    /// Opens the folder; nil if it is missing. Refuses a folder that belongs to another user, or that other users may
    /// enter.
    func open() throws(Failure) -> Descriptor? {
        let directory: Descriptor
        do {
            directory = try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        } catch .ENOENT {
            return nil
        } catch .ELOOP, .ENOTDIR {
            throw .unsafeDirectory(path: path)
        } catch {
            throw .socket(error, doing: "open \(path)")
        }
        var status = stat()
        guard unsafe fstat(directory.number, &status) == 0 else { throw .socket(.current, doing: "look at \(path)") }
        guard status.st_uid == owner, status.st_mode & 0o077 == 0 else { throw .unsafeDirectory(path: path) }
        return directory
    }

    /// Runs `body` while no other process publishes or removes a socket in the folder, by flock(2). Lock order:
    /// docs/ARCHITECTURE.md.
    func withLock<Result>(_ body: (Descriptor) throws(Failure) -> Result) throws(Failure) -> Result? {
        guard let directory = try open() else { return nil }
        while flock(directory.number, LOCK_EX) != 0 {
            let errno = Errno.current
            if errno != .EINTR { throw .socket(errno, doing: "lock \(path)") }
        }
        return try body(directory)
    }

    /// Removes a socket, and the links to it, if no daemon listens on it any more.
    func removeIfDead(_ socket: String) {
        // After an error the file stays, and the next caller tries again.
        _ = try? withLock { directory throws(Failure) in
            guard isDead(socket) else { return }
            _ = unsafe unlink(socket)
            removeLinks(in: directory)
        }
    }

    private func isDead(_ socket: String) -> Bool {
        do {
            _ = try connect(to: socket, patience: 0)
            return false
        } catch .socket(.ECONNREFUSED, _) {
            return true
        } catch {
            return false
        }
    }

    /// A listening socket under the volume's name, and a link to it under the mount's device. Sockets of dead daemons
    /// are removed.
    ///
    /// The socket is bound and listens under the folder's lock, so that no process takes it for a dead one in between.
    func publish(volume: String, device: UInt64?) throws(Failure) -> Descriptor {
        try make()
        let path = socket(volume: volume)
        let listener = try withLock { directory throws(Failure) in
            removeOrphans(in: directory)
            let listener = try listen(at: path)
            removeLinks(to: volume + Self.suffix, in: directory)
            if let device {
                // Without the link, clients find the mount by asking all daemons: a failure is no error.
                let link = link(device: device)
                _ = unsafe unlink(link)
                _ = unsafe symlink(volume + Self.suffix, link)
            }
            return listener
        }
        guard let listener else { throw .socket(.ENOENT, doing: "open \(self.path)") }
        return listener
    }
}

public import Failure
import Glibc
import Posix

/// The folder in which the daemons of one user put their control sockets.
///
/// It belongs to the user and is open to no other, which is checked at each use: in /tmp another user may have made a
/// folder of that name.
public struct SocketDirectory: Hashable, Sendable {
    public let path: String
    /// The user whose daemons they are.
    let owner: UInt32

    public init(path: String) {
        self.init(path: path, owner: geteuid())
    }

    init(path: String, owner: UInt32) {
        self.path = path
        self.owner = owner
    }

    /// Where a daemon of this user puts its socket: /run/latchkey for root; for others /tmp/latchkey-UID, or
    /// /tmp/latchkey-UID.N where another user has made a folder of that name.
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

    /// The folders in /tmp that are called as one of this user's is, by whichever user they were made.
    static func temporary(of user: UInt32) -> [SocketDirectory] {
        SocketDirectories.names(in: temporaryFolder).filter { owner(ofTemporary: $0) == user }.map {
            SocketDirectory(path: "\(temporaryFolder)/\($0)", owner: user)
        }
    }

    /// Whose sockets a folder of this name in /tmp holds; nil for any other name.
    static func owner(ofTemporary name: String) -> UInt32? {
        guard name.hasPrefix(temporaryPrefix) else { return nil }
        let parts = name.dropFirst(temporaryPrefix.count).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.count == 1 || UInt32(parts[1]) != nil else { return nil }
        return UInt32(parts[0])
    }

    /// Whether it is there, its user's own and closed to others.
    var isUsable: Bool { (try? open()) != nil }

    /// Where the socket for a volume lies.
    public func socket(volume: String) -> String {
        "\(path)/\(volume)\(Self.suffix)"
    }

    private static let suffix = ".socket"

    /// Where a link to the socket lies that serves the mount with this `st_dev`.
    func link(device: UInt64) -> String {
        "\(path)/\(Self.linkPrefix)\(device)"
    }

    private static let linkPrefix = "device-"

    /// Removes a socket and the link to it. A link that leads to another's socket by now stays.
    func withdraw(volume: String, device: UInt64?) {
        _ = unsafe unlink(socket(volume: volume))
        guard let device else { return }
        if target(of: link(device: device)) == volume + Self.suffix { _ = unsafe unlink(link(device: device)) }
    }

    /// What a link leads to; nil for what is none.
    private func target(of link: String) -> String? {
        var target = [UInt8](repeating: 0, count: 256)
        let count = unsafe readlink(link, &target, target.count)
        return count > 0 ? String(decoding: target.prefix(count), as: UTF8.self) : nil
    }

    /// Removes the links to sockets that are gone, and those to `socket`, while the folder is locked: the kernel gives
    /// the number of a mount that has ended to another one.
    private func removeLinks(to socket: String? = nil, in directory: Descriptor) {
        for name in SocketDirectories.names(in: "/proc/self/fd/\(directory.number)") {
            guard name.hasPrefix(Self.linkPrefix), let target = target(of: "\(path)/\(name)") else { continue }
            var status = stat()
            let isGone = unsafe lstat("\(path)/\(target)", &status) != 0 && Errno.current == .ENOENT
            if isGone || target == socket { _ = unsafe unlink("\(path)/\(name)") }
        }
    }

    /// Removes what killed daemons have left, while the folder is locked.
    private func removeOrphans(in directory: Descriptor) {
        for name in SocketDirectories.names(in: "/proc/self/fd/\(directory.number)") where name.hasSuffix(Self.suffix) {
            if isDead("\(path)/\(name)") { _ = unsafe unlink("\(path)/\(name)") }
        }
    }

    /// The sockets that are there, their daemons alive or not, sorted by name; none if the folder is missing.
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

    /// Opens the folder, or answers nil if it is missing; refuses one that is not the user's own or that others may
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

    /// Runs while no other process publishes or removes a socket in the folder.
    func withLock<Result>(_ body: (Descriptor) throws(Failure) -> Result) throws(Failure) -> Result? {
        guard let directory = try open() else { return nil }
        while flock(directory.number, LOCK_EX) != 0 {
            let errno = Errno.current
            if errno != .EINTR { throw .socket(errno, doing: "lock \(path)") }
        }
        return try body(directory)
    }

    /// Removes a socket if no daemon listens on it any more, and the links to it.
    func removeIfDead(_ socket: String) {
        // Whatever goes wrong here leaves a file that the next one tries to remove.
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

    /// A listening socket under the volume's name, and a link to it under the mount's device; what dead daemons have
    /// left is removed.
    ///
    /// Bound and listening while the folder is locked: nobody takes it for a dead one in between.
    func publish(volume: String, device: UInt64?) throws(Failure) -> Descriptor {
        try make()
        let path = socket(volume: volume)
        let listener = try withLock { directory throws(Failure) in
            removeOrphans(in: directory)
            let listener = try listen(at: path)
            removeLinks(to: volume + Self.suffix, in: directory)
            if let device {
                // Without the link the mount is found by asking all: its absence is no error.
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

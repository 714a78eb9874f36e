import Glibc
import Posix

/// The folder in which the daemons of one user put their control sockets.
///
/// It belongs to the user and is open to nobody else, which is checked at each use: in /tmp somebody else may have
/// made a folder of that name.
public struct SocketDirectory: Hashable, Sendable {
    public let path: String

    public init(path: String) {
        self.path = path
    }

    /// /run/latchkey for root; for others $XDG_RUNTIME_DIR/latchkey, or /tmp/latchkey-UID where that is not set.
    public static var standard: SocketDirectory {
        let user = geteuid()
        if user == 0 { return SocketDirectory(path: "/run/latchkey") }
        if let runtime = unsafe getenv("XDG_RUNTIME_DIR"), unsafe runtime.pointee == UInt8(ascii: "/") {
            return SocketDirectory(path: unsafe String(cString: runtime) + "/latchkey")
        }
        return SocketDirectory(path: "/tmp/latchkey-\(user)")
    }

    /// Where the socket for a volume lies.
    public func socket(volume: String) -> String {
        "\(path)/\(volume)\(Self.suffix)"
    }

    private static let suffix = ".socket"

    /// Where a link to the socket lies that serves the mount with this `st_dev`.
    func link(device: UInt64) -> String {
        "\(path)/device-\(device)"
    }

    /// Removes a socket and the link to it. A link that leads to another's socket by now stays.
    func withdraw(volume: String, device: UInt64?) {
        _ = unsafe unlink(socket(volume: volume))
        guard let device else { return }
        var target = [UInt8](repeating: 0, count: 256)
        let count = unsafe readlink(link(device: device), &target, target.count)
        if count > 0, target.prefix(count).elementsEqual((volume + Self.suffix).utf8) {
            _ = unsafe unlink(link(device: device))
        }
    }

    /// The sockets that are there, their daemons alive or not, sorted by name; none if the folder is missing.
    public func sockets() throws(ControlError) -> [String] {
        guard let directory = try open() else { return [] }
        guard let stream = unsafe opendir("/proc/self/fd/\(directory.number)") else {
            throw .io(.current, doing: "read \(path)")
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            if name.hasSuffix(Self.suffix) { names.append(name) }
        }
        withExtendedLifetime(directory) {}
        return names.sorted().map { "\(path)/\($0)" }
    }

    /// Makes the folder if it is missing.
    func make() throws(ControlError) {
        if unsafe mkdir(path, 0o700) != 0 {
            let errno = Errno.current
            if errno != .EEXIST { throw .io(errno, doing: "make \(path)") }
        }
    }

    /// Opens the folder, or answers nil if it is missing; refuses one that is not the user's own or that others may enter.
    func open() throws(ControlError) -> Descriptor? {
        let directory: Descriptor
        do {
            directory = try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        } catch .ENOENT {
            return nil
        } catch .ELOOP, .ENOTDIR {
            throw .unsafeDirectory(path: path)
        } catch {
            throw .io(error, doing: "open \(path)")
        }
        var status = stat()
        guard unsafe fstat(directory.number, &status) == 0 else { throw .io(.current, doing: "look at \(path)") }
        guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else { throw .unsafeDirectory(path: path) }
        return directory
    }

    /// Runs while no other process publishes or removes a socket in the folder.
    func withLock<Result>(_ body: (Descriptor) throws(ControlError) -> Result) throws(ControlError) -> Result? {
        guard let directory = try open() else { return nil }
        while flock(directory.number, LOCK_EX) != 0 {
            let errno = Errno.current
            if errno != .EINTR { throw .io(errno, doing: "lock \(path)") }
        }
        return try body(directory)
    }

    /// Removes a socket if no daemon listens on it any more.
    func removeIfDead(_ socket: String) {
        // Whatever goes wrong here leaves a file that the next one tries to remove.
        _ = try? withLock { _ throws(ControlError) in
            if isDead(socket) { _ = unsafe unlink(socket) }
        }
    }

    private func isDead(_ socket: String) -> Bool {
        do {
            _ = try connect(to: socket, patience: 0)
            return false
        } catch .io(.ECONNREFUSED, _) {
            return true
        } catch {
            return false
        }
    }

    /// A listening socket under the volume's name, and a link to it under the mount's device; what a dead daemon has left
    /// there is replaced.
    ///
    /// Bound and listening while the folder is locked: nobody takes it for a dead one in between.
    func publish(volume: String, device: UInt64?) throws(ControlError) -> Descriptor {
        try make()
        let path = socket(volume: volume)
        let listener = try withLock { directory throws(ControlError) in
            if isDead(path) { _ = unsafe unlink(path) }
            let listener = try listen(at: path)
            if let device {
                // Without the link the mount is found by asking all: its absence is no error.
                let link = link(device: device)
                _ = unsafe unlink(link)
                _ = unsafe symlink(volume + Self.suffix, link)
            }
            return listener
        }
        guard let listener else { throw .io(.ENOENT, doing: "open \(self.path)") }
        return listener
    }
}

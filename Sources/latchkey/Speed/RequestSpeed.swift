import Fuse
import Glibc
import Posix

/// What one request of the kernel costs on this machine, by either way.
struct RequestSpeed: Encodable {
    /// Seconds from a program's call until it has the answer; nil where the kernel does not have this way.
    let ring: Double?
    let device: Double
    /// Why there is no io_uring; nil if there is.
    let obstacle: TransportUse.NoRing?

    private enum CodingKeys: String, CodingKey {
        case ring = "io_uring"
        case device
    }

    private static let samples = 4000
    /// As many as a daemon has.
    private static let threads = 16

    /// Takes less than a second. Mounts an empty folder twice, where no other program sees it.
    static func measured() throws -> RequestSpeed {
        let device = try median(.device).seconds
        if let obstacle = RingSwitch.obstacle { return RequestSpeed(ring: nil, device: device, obstacle: obstacle) }
        let (ring, use) = try median(.ring)
        guard case .device(let obstacle) = use else { return RequestSpeed(ring: ring, device: device, obstacle: nil) }
        return RequestSpeed(ring: nil, device: device, obstacle: obstacle)
    }

    private static func median(_ transport: Configuration.Transport) throws -> (seconds: Double, use: TransportUse) {
        var configuration = Configuration()
        configuration.transport = transport
        let session = Session(fileSystem: EmptyFolder(), configuration: configuration)
        let times = try times(in: try mounted(session))
        let use = session.transport
        try session.wait()
        return (times.sorted()[samples / 2], use)
    }

    /// Closes the root, which ends the mount.
    private static func times(in root: consuming Descriptor) throws(Errno) -> [Double] {
        try (0..<samples).map { _ throws(Errno) in
            let start = MonotonicClock.now
            _ = try root.status()
            return (MonotonicClock.now - start) / .seconds(1)
        }
    }

    /// The root of the mount, which has no name any more: it ends with this process, however that ends.
    private static func mounted(_ session: Session) throws -> Descriptor {
        var template = Array("/tmp/latchkey-speed.XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Errno.current }
        let folder = Path(bytes: template.dropLast().map { UInt8(bitPattern: $0) })
        defer { _ = folder.rmdir() }
        try session.mount(at: folder, options: ["subtype=latchkey-speed"])
        do throws(Errno) {
            try session.start(threads: threads)
            let root = try Descriptor.open(path: folder, O_PATH | O_DIRECTORY)
            try session.unmount(lazily: true)
            return root
        } catch {
            _ = try? session.unmount(lazily: true)
            throw error
        }
    }
}

/// A folder with nothing in it, of which the kernel keeps nothing.
private final class EmptyFolder: FileSystem {
    private let status: FileStatus = {
        var status = FileStatus(stat())
        status.mode = UInt32(S_IFDIR | 0o700)
        status.linkCount = 2
        status.owner = getuid()
        status.group = getgid()
        return status
    }()

    func getattr(_ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<Attributes>) {
        reply.succeed(Attributes(status: status, timeout: 0))
    }
}

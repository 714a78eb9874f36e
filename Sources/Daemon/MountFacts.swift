import Control
import Glibc

/// What a status tells that never changes while the mount is there.
public struct MountFacts: Sendable {
    public var mountPoint: String
    public var vault: String
    /// The volume ID in hexadecimal.
    public var volume: String
    /// `st_dev` of the files in the mount.
    public var device: UInt64
    public var grace: Duration
    public var readOnly: Bool
    public var version: String
    public var formatVersion: Int

    public init(
        mountPoint: String, vault: String, volume: String, device: UInt64, grace: Duration, readOnly: Bool,
        version: String, formatVersion: Int
    ) {
        self.mountPoint = mountPoint
        self.vault = vault
        self.volume = volume
        self.device = device
        self.grace = grace
        self.readOnly = readOnly
        self.version = version
        self.formatVersion = formatVersion
    }

    func status(state: Status.State, graceRemaining: Duration?, of mount: any MountedFileSystem) -> Status {
        let remaining = graceRemaining?.seconds
        let openFiles = mount.openFiles.map { ($0.key.name, $0.value) }
        return Status(
            state: state, graceRemaining: remaining, deadline: remaining.map { Self.wallClock + $0 },
            classKeys: mount.classKeys.map(\.name), openFiles: Dictionary(uniqueKeysWithValues: openFiles),
            fileKeysInMemory: mount.fileKeysInMemory, mountPoint: mountPoint, vault: vault, volume: volume,
            device: device, deviceKey: "software", grace: grace.seconds, readOnly: readOnly, version: version,
            formatVersion: formatVersion, pid: Int(getpid()))
    }

    /// Seconds since 1970.
    private static var wallClock: Double {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}

extension Duration {
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

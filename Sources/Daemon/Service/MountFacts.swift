import Control
public import Failure
import Glibc
import Mount
public import Posix

/// The part of a status that does not change while the mount exists.
public struct MountFacts: Sendable {
    public var mountPoint: Path
    public var vault: Path
    /// The volume ID in hexadecimal.
    public var volume: String
    /// `st_dev` of the files in the mount.
    public var device: UInt64
    public var grace: Duration
    public var readOnly: Bool
    public var version: String
    /// As it was when the mount began.
    public var program = Program.ofThisProcess()
    public var formatVersion: Int
    public var whenLocked: WhenLocked
    /// The time without use after which the mount locks itself.
    public var lockWhenIdle: Duration?
    /// How long class C's key stays while the mount is locked; nil for ever.
    public var forgetAfter: Duration?
    /// The most that a hold delays an eviction; zero if there are no holds.
    public var longestHold: Duration
    /// Why there are none, with the policy's file and line; nil if there are.
    public var noHolds: String?
    /// Whether several machines change the vault in turns, each in its own copy.
    public var isSynchronised = false
    /// Whether other machines work with the vault at the same time.
    public var isShared = false
    /// How the device key is kept: "software" is a file.
    public var deviceKey: String
    /// The file with the device key, plain or sealed by a TPM.
    public var deviceKeyFile: Path?
    /// Whether an unlock needs more than the device key. Waits for no lock or disk.
    public var hasPasscode: @Sendable () -> Bool
    /// How many wrong passcodes are still allowed; nil without a limit. Waits for no lock or disk.
    public var guesses: @Sendable () -> Guesses?
    /// The proof by which the holder of an escrow key knows the vault; nil before the first unlock. Waits for no disk.
    public var vaultProof: @Sendable () -> String?
    /// Whether another machine has taken the vault over. Waits for no lock or disk.
    public var isTakenOver: @Sendable () -> Bool
    /// The file that the daemon logs to because there is no system log.
    public var logFile: String?

    public init(
        mountPoint: Path, vault: Path, volume: String, device: UInt64, grace: Duration, readOnly: Bool,
        version: String, formatVersion: Int, whenLocked: WhenLocked = .fail, deviceKey: String = "software",
        deviceKeyFile: Path? = nil,
        lockWhenIdle: Duration? = nil, forgetAfter: Duration? = nil, longestHold: Duration = .zero,
        noHolds: String? = nil,
        hasPasscode: @escaping @Sendable () -> Bool = { true },
        guesses: @escaping @Sendable () -> Guesses? = { nil },
        vaultProof: @escaping @Sendable () -> String? = { nil },
        isTakenOver: @escaping @Sendable () -> Bool = { false },
        logFile: String? = nil
    ) {
        self.mountPoint = mountPoint
        self.vault = vault
        self.volume = volume
        self.device = device
        self.grace = grace
        self.readOnly = readOnly
        self.version = version
        self.formatVersion = formatVersion
        self.whenLocked = whenLocked
        self.deviceKey = deviceKey
        self.deviceKeyFile = deviceKeyFile
        self.lockWhenIdle = lockWhenIdle
        self.forgetAfter = forgetAfter
        self.longestHold = longestHold
        self.noHolds = noHolds
        self.hasPasscode = hasPasscode
        self.guesses = guesses
        self.vaultProof = vaultProof
        self.isTakenOver = isTakenOver
        self.logFile = logFile
    }

    /// The status at a moment. Takes no lock that a thread may hold while it waits for a disk.
    func status(_ moment: LockMoment, of mount: any MountedFileSystem) -> Status {
        let remaining = moment.graceRemaining?.seconds
        let openFiles = mount.openFiles.map { ($0.key.name, $0.value) }
        let progress = mount.evictionProgress
        let transport = mount.transport
        return Status(
            state: moment.state, graceRemaining: remaining, deadline: remaining.map { Self.wallClock + $0 },
            evictionPhase: progress?.phase, inodesToInvalidate: progress?.inodesToInvalidate,
            lastLockDuration: moment.lastLockDuration?.seconds, classKeys: mount.classKeys.map(\.name),
            openFiles: Dictionary(uniqueKeysWithValues: openFiles), fileKeysInMemory: mount.fileKeysInMemory,
            mountPoint: mountPoint, vault: vault, volume: volume, device: device, deviceKey: deviceKey,
            grace: grace.seconds, readOnly: readOnly || mount.isReadOnly, version: version,
            formatVersion: formatVersion, pid: Int(getpid()), whenLocked: whenLocked == .fail ? .fail : .freeze,
            freezeTimeout: freezeTimeout,
            waitingRequests: mount.waitingRequests, instance: moment.instance, sequence: moment.sequence,
            changed: moment.changed, hasPasscode: hasPasscode(),
            lockWhenIdle: lockWhenIdle?.seconds, rotation: mount.rotation, ending: moment.isDetached ? true : nil,
            deviceKeyFile: deviceKeyFile, unlockedMemory: ContentsMemory.unlockedByteCount, guesses: guesses(),
            vaultProof: vaultProof(), logFile: logFile, refusals: mount.refusals,
            alwaysReadOnly: readOnly ? true : nil, deep: moment.isDeep ? true : nil,
            forgetAfter: forgetAfter?.seconds,
            forgetTime: moment.forgetDeadline.map { Self.wallClock + ($0 - BootClock.now).seconds },
            takenOver: isTakenOver() ? true : nil, transport: transport.way, transportReason: transport.reason,
            freshness: mount.freshness, holds: moment.holds, longestHold: longestHold.seconds,
            synchronised: isSynchronised, shared: isShared)
    }

    private var freezeTimeout: Double? {
        guard case .freeze(let timeout) = whenLocked else { return nil }
        return timeout?.seconds
    }

    /// Seconds since 1970.
    static var wallClock: Double {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}

/// The lock's part of a status.
struct LockMoment {
    var state: Status.State
    var graceRemaining: Duration?
    var lastLockDuration: Duration?
    /// Whether the lock under way, or the last one, takes class C's key.
    var isDeep: Bool
    /// When class C's key goes, of the boot clock.
    var forgetDeadline: Duration?
    var instance: String
    var sequence: Int
    /// Seconds since 1970.
    var changed: Double
    /// Whether the mount was detached from the tree.
    var isDetached: Bool
    /// Nil if there are none.
    var holds: [Hold]?
}

extension Duration {
    /// From 1970 until a time.
    init(_ time: Timespec) {
        self = .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
    }

    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

public import Failure
public import Posix

/// One mount, as its daemon describes it; the type `MountStatus` of `io.latchkey`.
public struct Status: Codable, Hashable, Sendable {
    public enum State: String, Codable, Hashable, Sendable, CustomStringConvertible {
        case beforeFirstUnlock = "before-first-unlock"
        case unlocked
        /// The grace period runs, programs hold the lock, or the keys are being evicted.
        case locking
        case locked

        public var description: String { rawValue }
    }

    /// The steps of an eviction, in their order.
    public enum EvictionPhase: String, Codable, Hashable, Sendable {
        /// The kernel writes back dirty pages of mappings; it does not say how many there are.
        case flushing
        /// The kernel drops cached pages, inode by inode.
        case invalidating
        /// The daemon waits for requests that hold a key, and wipes the keys.
        case wiping
    }

    /// How requests for locked contents are treated.
    public enum WhenLocked: String, Codable, Hashable, Sendable {
        /// They fail.
        case fail
        /// open(2) and read(2) wait for the next unlock.
        case freeze
    }

    /// By which way the kernel's requests come.
    public enum Transport: String, Codable, Hashable, Sendable {
        /// Memory that the kernel and the daemon share.
        case ring = "io_uring"
        /// /dev/fuse.
        case device
    }

    /// Why requests come from /dev/fuse.
    public enum NoRing: String, Codable, Hashable, Sendable {
        /// The mount was told to.
        case notWanted = "not-wanted"
        /// The mount freezes programs, which io_uring would keep from being killed.
        case freezes
        /// The kernel has no FUSE over io_uring.
        case notSupported = "not-supported"
        /// The kernel has it switched off.
        case switchedOff = "switched-off"
        /// The sysctl kernel.io_uring_disabled or a filter of system calls forbids io_uring.
        case forbidden
        /// The kernel refused what is needed, such as memory.
        case refused
    }

    public var state: State
    /// Seconds until the eviction, with all holds; nil unless locking, 0 while the keys are being evicted.
    public var graceRemaining: Double?
    /// The time of the eviction, in seconds since 1970; nil unless locking.
    public var deadline: Double?
    /// The step of the eviction; nil unless the keys are being evicted.
    public var evictionPhase: EvictionPhase?
    /// Number of inodes whose cached pages the kernel has not yet dropped in this pass; nil except in `invalidating`.
    public var inodesToInvalidate: Int?
    /// Seconds from the last lock's deadline until its keys were wiped; nil before the first lock.
    public var lastLockDuration: Double?
    /// Long names of the classes whose existing files can be opened now.
    public var classKeys: [String]
    /// Number of open files, by the long name of their class.
    public var openFiles: [String: Int]
    /// Number of file keys in memory.
    public var fileKeysInMemory: Int
    public var mountPoint: Path {
        get { PathInJSON.path(mountPointText, mountPointBase64) }
        set { (mountPointText, mountPointBase64) = PathInJSON.pair(newValue) }
    }
    private var mountPointText = ""
    private var mountPointBase64: String?
    public var vault: Path {
        get { PathInJSON.path(vaultText, vaultBase64) }
        set { (vaultText, vaultBase64) = PathInJSON.pair(newValue) }
    }
    private var vaultText = ""
    private var vaultBase64: String?
    /// The volume ID, 32 hexadecimal digits.
    public var volume: String
    /// `st_dev` of the files in the mount.
    public var device: UInt64
    /// How the device key is kept: "software" is a file.
    public var deviceKey: String
    /// The file that holds the device key, plain or sealed by a TPM; nil from an older daemon.
    public var deviceKeyFile: Path? {
        get { deviceKeyFileText.map { PathInJSON.path($0, deviceKeyFileBase64) } }
        set {
            deviceKeyFileText = newValue.map { PathInJSON.text($0) }
            deviceKeyFileBase64 = newValue.flatMap { PathInJSON.base64($0) }
        }
    }
    private var deviceKeyFileText: String?
    private var deviceKeyFileBase64: String?
    /// Bytes of the daemon's buffers for contents that may be swapped out; nil from an older daemon.
    public var unlockedMemory: Int?
    /// Length of the grace period in seconds.
    public var grace: Double
    public var readOnly: Bool
    public var version: String
    public var formatVersion: Int
    public var pid: Int
    /// The file that the daemon runs; nil from an older daemon.
    public var program: Program?
    /// Nil from an older daemon.
    public var whenLocked: WhenLocked?
    /// The most seconds that a request waits for an unlock; nil if there is no limit, or if no request waits.
    public var freezeTimeout: Double?
    /// Number of requests that wait for the next unlock.
    public var waitingRequests: Int?
    /// Identifies the daemon process: 32 hexadecimal digits; nil from an older daemon.
    public var instance: String?
    /// Number of changes of state so far.
    public var sequence: Int?
    /// The time of the last change, in seconds since 1970; before the first one, the time when the daemon started.
    public var changed: Double?
    /// False if the device key alone opens the vault, which protects nothing. Nil from an older daemon.
    public var hasPasscode: Bool?
    /// Seconds without use after which the mount locks itself; nil for never.
    public var lockWhenIdle: Double?
    /// Nil unless some files still have previous keys.
    public var rotation: Rotation?
    /// True when the mount was unmounted while programs still use its files: the daemon ends with the last of them. Nil
    /// before that.
    public var ending: Bool?
    /// How many wrong passcodes are still allowed, as of the last one that the daemon has tried; nil without a limit.
    public var guesses: Guesses?
    /// The proof by which the holder of an escrow key knows the vault: eight groups of four hexadecimal digits; nil
    /// before the first unlock.
    public var vaultProof: String?
    /// The file that the daemon logs to because there is no system log; nil if there is one.
    public var logFile: String?
    /// What was refused since the mount because it is damaged; nil if nothing was.
    public var refusals: Refusals?
    /// True if the mount began read-only: its daemon writes nothing to the vault, and no remount changes that.
    public var alwaysReadOnly: Bool?
    /// True if the lock under way, or the last one, takes the key of class C as well: then it ends in
    /// `beforeFirstUnlock`.
    public var deep: Bool?
    /// Seconds that class C's key stays while the mount is locked; nil for ever.
    public var forgetAfter: Double?
    /// The time at which class C's key goes, in seconds since 1970; nil unless the mount is locked and forgets.
    public var forgetTime: Double?
    /// True once another machine has taken the vault over: every call in the mount fails from then on.
    public var takenOver: Bool?
    /// Nil from an older daemon.
    public var transport: Transport?
    /// Nil if requests come by io_uring, and before the first one.
    public var transportReason: NoRing?
    /// What is older than what this machine has seen; nil with `--freshness off`, and from an older daemon.
    public var freshness: Freshness?
    /// The programs for which a lock waits, the first to ask first; nil if there are none.
    public var holds: [Hold]?
    /// The most seconds that a hold delays an eviction; 0 if there are no holds, nil from an older daemon.
    public var longestHold: Double?
    /// Whether several machines change the vault in turns, each in its own copy; nil from an older daemon.
    public var synchronised: Bool?
    /// Whether other machines work with the vault at the same time; nil from a daemon of an earlier version.
    public var shared: Bool?

    private enum CodingKeys: String, CodingKey {
        case state, graceRemaining, deadline, evictionPhase, inodesToInvalidate, lastLockDuration, classKeys,
            openFiles, fileKeysInMemory, mountPointText = "mountPoint", mountPointBase64, vaultText = "vault",
            vaultBase64, volume, device, deviceKey, deviceKeyFileText = "deviceKeyFile", deviceKeyFileBase64,
            unlockedMemory, grace, readOnly, version, formatVersion, pid, program, whenLocked, freezeTimeout,
            waitingRequests, instance, sequence, changed, hasPasscode, lockWhenIdle, rotation, ending, guesses,
            vaultProof, logFile, refusals, alwaysReadOnly, deep, forgetAfter, forgetTime, takenOver, transport,
            transportReason, freshness, holds, longestHold, synchronised, shared
    }

    public init(
        state: State, graceRemaining: Double? = nil, deadline: Double? = nil, evictionPhase: EvictionPhase? = nil,
        inodesToInvalidate: Int? = nil, lastLockDuration: Double? = nil, classKeys: [String] = [],
        openFiles: [String: Int] = [:], fileKeysInMemory: Int = 0, mountPoint: Path, vault: Path, volume: String,
        device: UInt64, deviceKey: String, grace: Double, readOnly: Bool, version: String, formatVersion: Int,
        pid: Int, whenLocked: WhenLocked? = nil, freezeTimeout: Double? = nil, waitingRequests: Int? = nil,
        instance: String? = nil, sequence: Int? = nil, changed: Double? = nil, hasPasscode: Bool? = nil,
        lockWhenIdle: Double? = nil, rotation: Rotation? = nil, ending: Bool? = nil, deviceKeyFile: Path? = nil,
        unlockedMemory: Int? = nil, guesses: Guesses? = nil, vaultProof: String? = nil, logFile: String? = nil,
        refusals: Refusals? = nil, alwaysReadOnly: Bool? = nil, deep: Bool? = nil, forgetAfter: Double? = nil,
        forgetTime: Double? = nil, takenOver: Bool? = nil, transport: Transport? = nil,
        transportReason: NoRing? = nil, freshness: Freshness? = nil, holds: [Hold]? = nil, longestHold: Double? = nil,
        synchronised: Bool? = nil, shared: Bool? = nil
    ) {
        self.state = state
        self.graceRemaining = graceRemaining
        self.deadline = deadline
        self.evictionPhase = evictionPhase
        self.inodesToInvalidate = inodesToInvalidate
        self.lastLockDuration = lastLockDuration
        self.classKeys = classKeys
        self.openFiles = openFiles
        self.fileKeysInMemory = fileKeysInMemory
        self.volume = volume
        self.device = device
        self.deviceKey = deviceKey
        self.grace = grace
        self.readOnly = readOnly
        self.version = version
        self.formatVersion = formatVersion
        self.pid = pid
        self.whenLocked = whenLocked
        self.freezeTimeout = freezeTimeout
        self.waitingRequests = waitingRequests
        self.instance = instance
        self.sequence = sequence
        self.changed = changed
        self.hasPasscode = hasPasscode
        self.lockWhenIdle = lockWhenIdle
        self.rotation = rotation
        self.ending = ending
        self.guesses = guesses
        self.vaultProof = vaultProof
        self.unlockedMemory = unlockedMemory
        self.logFile = logFile
        self.refusals = refusals
        self.alwaysReadOnly = alwaysReadOnly
        self.deep = deep
        self.forgetAfter = forgetAfter
        self.forgetTime = forgetTime
        self.takenOver = takenOver
        self.transport = transport
        self.transportReason = transportReason
        self.freshness = freshness
        self.holds = holds
        self.longestHold = longestHold
        self.synchronised = synchronised
        self.shared = shared
        self.mountPoint = mountPoint
        self.vault = vault
        self.deviceKeyFile = deviceKeyFile
    }
}

/// What is older in a vault than what this machine has seen.
public struct Freshness: Codable, Hashable, Sendable {
    /// Whether files that are older are refused.
    public var isStrict: Bool
    /// How many files were found to be older since the mount, at most 65,536.
    public var older: Int
    /// When the first of those was found after there were none, in seconds since 1970; nil if there are none, and from
    /// an older daemon.
    public var found: Double?
    /// The moment as whose copy the whole vault looks, in seconds since 1970; nil if it does not look like a copy.
    public var moment: Double?
    /// The journal is older, or gone, and what was synced last before a crash may be missing.
    public var hasLostJournal: Bool
    /// The paths of the first of those files, from the mount's root, with unusual characters escaped.
    public var files: [String]
    /// Why nothing is remembered of the vault's files; nil if they are.
    public var trouble: String?

    public init(
        isStrict: Bool, older: Int, found: Double? = nil, moment: Double? = nil, hasLostJournal: Bool,
        files: [String] = [],
        trouble: String? = nil
    ) {
        self.files = files
        self.trouble = trouble
        self.isStrict = isStrict
        self.older = older
        self.found = found
        self.moment = moment
        self.hasLostJournal = hasLostJournal
    }
}

/// How much a mount has refused because it is damaged.
public struct Refusals: Codable, Hashable, Sendable {
    /// The number of refused requests.
    public var count: Int
    public var lastReason: String
    /// The time of the last one, in seconds since 1970.
    public var last: Double

    public init(count: Int, lastReason: String, last: Double) {
        self.count = count
        self.lastReason = lastReason
        self.last = last
    }
}

public import Failure

/// One mount, as its daemon describes it; the type `MountStatus` of `io.latchkey`.
public struct Status: Codable, Hashable, Sendable {
    public enum State: String, Codable, Hashable, Sendable, CustomStringConvertible {
        case beforeFirstUnlock = "before-first-unlock"
        case unlocked
        /// The grace runs, or the keys are being taken out.
        case locking
        case locked

        public var description: String { rawValue }
    }

    /// The steps of taking the keys out of memory, in their order.
    public enum EvictionPhase: String, Codable, Hashable, Sendable {
        /// The kernel writes dirty pages of mappings back; how many it has, it does not tell.
        case flushing
        /// The kernel drops its pages, inode by inode.
        case invalidating
        /// Requests that hold a key are waited for, and keys are wiped.
        case wiping
    }

    /// What becomes of requests for contents that are locked.
    public enum WhenLocked: String, Codable, Hashable, Sendable {
        /// They are refused.
        case fail
        /// open(2) and read(2) wait for the next unlock.
        case freeze
    }

    public var state: State
    /// Seconds until the keys go; nil unless locking, 0 while they are being taken out.
    public var graceRemaining: Double?
    /// When the keys go, in seconds since 1970; nil unless locking.
    public var deadline: Double?
    /// What an eviction is about; nil unless the keys are being taken out.
    public var evictionPhase: EvictionPhase?
    /// Inodes whose cached pages the kernel has yet to drop in this pass; nil but in the phase `invalidating`.
    public var inodesToInvalidate: Int?
    /// Seconds from the deadline of the last lock to the end of the keys; nil before there was one.
    public var lastLockDuration: Double?
    /// Long names of the classes whose existing files can be opened now.
    public var classKeys: [String]
    /// How many files are open, by the long name of their class.
    public var openFiles: [String: Int]
    /// How many file keys are in memory.
    public var fileKeysInMemory: Int
    public var mountPoint: String
    public var vault: String
    /// The volume ID, 32 hexadecimal digits.
    public var volume: String
    /// `st_dev` of the files in the mount.
    public var device: UInt64
    /// Where the device key is kept: "software" is a file.
    public var deviceKey: String
    /// The file that holds the device key, or what a TPM has sealed; nil from a daemon of before it was told.
    public var deviceKeyFile: String?
    /// Bytes of the daemon's buffers for contents that may be swapped out; nil from a daemon of before they were counted.
    public var unlockedMemory: Int?
    /// Seconds between a lock and the end of the keys.
    public var grace: Double
    public var readOnly: Bool
    public var version: String
    public var formatVersion: Int
    public var pid: Int
    /// Nil from a daemon of before there was a choice.
    public var whenLocked: WhenLocked?
    /// How many seconds a request waits for an unlock at most; nil for no end, and where none waits.
    public var freezeTimeout: Double?
    /// How many requests wait for the next unlock.
    public var waitingRequests: Int?
    /// Another for each daemon, 32 hexadecimal digits; nil from a daemon of before there was one.
    public var instance: String?
    /// How often the state has changed so far.
    public var sequence: Int?
    /// When it last did, in seconds since 1970; when the daemon started if it never has.
    public var changed: Double?
    /// False where the device key alone opens the vault: nothing is protected. Nil from a daemon of before that could be.
    public var hasPasscode: Bool?
    /// Seconds without use after which the mount locks by itself; nil for never.
    public var lockWhenIdle: Double?
    /// Nil unless files have old keys still.
    public var rotation: Rotation?
    /// True once the mount is unmounted while programs still use its files: the daemon ends with the last of them. Nil
    /// before that.
    public var ending: Bool?
    /// How many wrong passcodes the vault takes, as of the last one that the daemon has tried; nil where there is no limit.
    public var guesses: Guesses?
    /// What the holder of an escrow key knows the vault by: eight groups of four hexadecimal digits; nil before anything has opened it.
    public var vaultProof: String?

    public init(
        state: State, graceRemaining: Double? = nil, deadline: Double? = nil, evictionPhase: EvictionPhase? = nil,
        inodesToInvalidate: Int? = nil, lastLockDuration: Double? = nil, classKeys: [String] = [],
        openFiles: [String: Int] = [:], fileKeysInMemory: Int = 0, mountPoint: String, vault: String, volume: String,
        device: UInt64, deviceKey: String, grace: Double, readOnly: Bool, version: String, formatVersion: Int,
        pid: Int, whenLocked: WhenLocked? = nil, freezeTimeout: Double? = nil, waitingRequests: Int? = nil,
        instance: String? = nil, sequence: Int? = nil, changed: Double? = nil, hasPasscode: Bool? = nil,
        lockWhenIdle: Double? = nil, rotation: Rotation? = nil, ending: Bool? = nil, deviceKeyFile: String? = nil,
        unlockedMemory: Int? = nil, guesses: Guesses? = nil, vaultProof: String? = nil
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
        self.mountPoint = mountPoint
        self.vault = vault
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
        self.deviceKeyFile = deviceKeyFile
        self.unlockedMemory = unlockedMemory
    }
}

public import Format
public import LockSources

/// A vault as its user has named it: one table of the configuration.
///
/// What is nil is not in the file: then the command's own default applies.
public struct NamedVault: Hashable, Sendable {
    /// What open(2) and read(2) of a locked file do.
    public enum WhenLocked: String, Hashable, Sendable, CaseIterable {
        case fail
        case freeze
    }

    /// What a mount does where the store would lose data.
    public enum StoreRisk: String, Hashable, Sendable, CaseIterable {
        case refuse
        case accept
    }

    /// By which way the kernel's requests come.
    public enum Transport: String, Hashable, Sendable, CaseIterable {
        case auto
        case ring = "io_uring"
        case device
    }

    /// What happens to files that are older than what this machine has seen.
    public enum Freshness: String, Hashable, Sendable, CaseIterable {
        case warn
        case strict
        case off
    }

    public let name: VaultName
    /// The line of the table's header.
    public let line: Int
    /// The absolute path of the ciphertext.
    public let folder: String
    /// The absolute path of the mount point: `~/NAME` if the file has none.
    public let mountPoint: String
    /// Of a vault that `init --name` makes.
    public internal(set) var defaultClass: ProtectionClass?
    /// Seconds.
    public internal(set) var grace: Int?
    /// Seconds.
    public internal(set) var lockWhenIdle: Int?
    /// Hours.
    public internal(set) var forgetAfter: Int?
    public internal(set) var whenLocked: WhenLocked?
    /// Seconds.
    public internal(set) var freezeTimeout: Int?
    /// Seconds.
    public internal(set) var lease: Int?
    public internal(set) var storeRisk: StoreRisk?
    public internal(set) var transport: Transport?
    public internal(set) var freshness: Freshness?
    public internal(set) var isReadOnly: Bool?
    /// Whether other machines may mount the vault at the same time.
    public internal(set) var isShared: Bool?
    public internal(set) var allowsOthers: Bool?
    /// The values of `-o`.
    public internal(set) var options: [String] = []
    /// The absolute path of the device key.
    public var deviceKey: String?
    /// The absolute path of a policy besides the machine's.
    public internal(set) var policy: String?
    /// A command of `/bin/sh` whose output is the passcode.
    public internal(set) var passcodeCommand: String?
    /// Whether the bare mount point takes no files while nothing is mounted on it.
    public var guardsMountPoint: Bool?
    /// What makes the agent lock it; nil for all sources.
    public var lockOn: Set<LockSource>?
    /// Whether the passcode that is typed at a login unlocks it, by the PAM module.
    public internal(set) var unlocksAtLogin: Bool?

    /// The line of each key that the table has.
    public internal(set) var lines: [Key: Int] = [:]

    /// The keys of a table, as they stand in the file.
    public enum Key: String, Hashable, Sendable, CaseIterable {
        case folder
        case mount
        case defaultClass = "default-class"
        case grace
        case lockWhenIdle = "lock-when-idle"
        case forgetAfter = "forget-after"
        case whenLocked = "when-locked"
        case freezeTimeout = "freeze-timeout"
        case lease
        case shared
        case storeRisk = "store-risk"
        case transport
        case freshness
        case readOnly = "read-only"
        case allowOther = "allow-other"
        case options
        case deviceKey = "device-key"
        case policy
        case passcodeCommand = "passcode-command"
        case guardMountPoint = "guard-mount-point"
        case lockOn = "lock-on"
        case unlockAtLogin = "unlock-at-login"
    }

    public init(_ name: VaultName, line: Int = 0, folder: String, mountPoint: String) {
        self.name = name
        self.line = line
        self.folder = folder
        self.mountPoint = mountPoint
    }
}

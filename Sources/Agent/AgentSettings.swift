public import LockSources
public import Posix

/// What the configuration and the policy say, read anew for each event.
public struct AgentSettings: Sendable {
    /// Sources that lock nothing.
    public var off: Set<LockSource> = []
    /// The sources of single vaults, by the vault's folder; a vault that is not here has all.
    public var sourcesOfVaults: [Path: Set<LockSource>] = [:]
    /// Vendor and product IDs in hexadecimal, "1050:0407", of the devices whose removal locks.
    public var usbDevices: Set<String> = []
    public var notifies = true
    /// Whether notifications may name files.
    public var namesFiles = false
    /// Whether sleep takes the key of class C as well.
    public var locksDeepAtSleep = false

    public init() {}

    func isOn(_ source: LockSource, forVault folder: Path) -> Bool {
        !off.contains(source) && sourcesOfVaults[folder]?.contains(source) != false
    }
}

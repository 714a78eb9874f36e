import Administration
import Control
import DeviceKeys
import Crypto
import Failure
import Format
import Glibc
import Keybag
import Logging
import Mount
import Policy
import Posix
import Store
import Vault

/// A vault before it is mounted: locked for this process (`lk.lock`), its keybag opened with the device key.
struct OpenVault: Sendable {
    let store: any Store
    let lock: VaultLock
    let keybag: OpenKeybag
    let deviceKeyPath: String

    /// The volume ID in hexadecimal.
    var volume: String { "\(keybag.volume)" }

    init(_ configuration: Configuration) throws(Failure) {
        do {
            store = try DirectoryStore(path: configuration.vault)
        } catch {
            switch error {
            case .ENOENT, .ENOTDIR: throw .notAVault
            default: throw .io(error, doing: "open \(configuration.vault)")
            }
        }
        let identifier = try OpenKeybag.inspect(store).volume
        do {
            lock = try VaultLock(of: store)
        } catch {
            switch error {
            case .EWOULDBLOCK: throw .vaultInUse
            default: throw .io(error, doing: "lock \(configuration.vault)")
            }
        }
        deviceKeyPath = configuration.deviceKeyPath ?? DeviceKeyFile.defaultPath(for: identifier)
        keybag = try OpenKeybag.open(
            in: store, deviceKey: try DeviceKeyLocation.load(path: deviceKeyPath), readOnly: configuration.readOnly)
    }

    /// Logs a warning if other users may use the device key.
    func warnOfReaders(of vault: String, _ log: Logger) {
        let owner = try? store.status(of: store.root).owner
        guard let exposure = DeviceKeyExposure(of: deviceKeyPath, ofVaultOwnedBy: owner) else { return }
        log.warning("\(exposure.reason)", metadata: ["file": "\(deviceKeyPath)"])
    }

    /// The class keys that the configured credential releases.
    func prove(_ unlock: Configuration.Unlock) throws(Failure) -> ClassKeys {
        let secret = try Secret.read(from: unlock.secret)
        return try keybag.unlock(Credential(unlock.opener, reading: secret))
    }

    /// The class keys of a vault that has no passcode.
    func keysWithoutPasscode() throws(Failure) -> ClassKeys {
        try keybag.unlock(.nothing())
    }

    /// Makes the mount; no thread serves requests yet.
    func mount(
        _ configuration: Configuration, _ policy: PolicyInForce, log: Logger
    ) throws(Failure) -> VaultMount {
        // A copy of a vault has the same volume ID. Checked before the mount is made.
        if let other = SocketDirectories([configuration.socketDirectory]).mount(volume: volume) {
            throw .alreadyServed(socket: other.status.mountPoint)
        }
        let descriptorLimit = try Failure.when("raise the limit of open files") { () throws(Errno) in
            try ProcessLimits.raiseOpenFiles()
        }
        let settings = keybag.settings
        let traits = StoreTraits(
            nameMax: Int(settings.nameMaximum),
            recordKind: settings.directoryRecords == .file ? .file : .symbolicLink)
        let vault = Vault(
            store: store, keys: keybag.keys, ring: keybag.ring, traits: traits,
            minimumClass: policy.minimumClass ?? .none, isReadOnly: configuration.readOnly)
        do {
            let mount = try ProtectedMount(
                vault: vault, at: configuration.mountPoint, options: configuration.options,
                descriptorLimit: Int(clamping: descriptorLimit ?? .max), whenLocked: configuration.whenLocked,
                forbidden: { policy.violation(setting: $0)?.description }
            ) { $0.write(to: log) }
            return VaultMount(mount, at: configuration.mountPoint, threads: configuration.threads, log: log)
        } catch {
            throw Failure(error)
        }
    }
}

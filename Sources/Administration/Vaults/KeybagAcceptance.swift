public import Control
public import Crypto
import DeviceKeys
public import Failure
import Keybag
public import Posix

/// Puts the newest keybag that this machine has seen into a vault that has an older one: its owner has restored it.
public struct KeybagAcceptance: Sendable {
    private let folder: VaultFolder
    private let deviceKeyPath: Path
    /// Whether the device key alone opens the vault now.
    public let hasNoPasscode: Bool

    public init(
        of vault: AbsolutePath, deviceKeyPath: Path?, _ claim: ClaimOptions = ClaimOptions()
    ) throws(Failure) {
        folder = try VaultFolder(vault, claim)
        let volume = try OpenKeybag.inspect(folder.store).volume
        self.deviceKeyPath = deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume)
        // Read-only, the newest keybag counts.
        hasNoPasscode =
            try OpenKeybag.open(
                in: folder.store, deviceKey: DeviceKeyLocation.load(path: self.deviceKeyPath), readOnly: true
            ).hasNoPasscode
    }

    /// - Parameter secret: what opens the newest keybag.
    /// - Throws: `notOlder`, `beforeRotation`; what an unlock does. Then nothing has changed.
    public func run(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) {
        defer { withExtendedLifetime(folder) {} }
        try OpenKeybag.acceptOlder(
            in: folder.store, deviceKey: DeviceKeyLocation.load(path: deviceKeyPath),
            by: Credential(opener, reading: secret))
    }
}

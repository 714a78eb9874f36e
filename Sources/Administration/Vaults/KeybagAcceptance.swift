public import Control
public import Crypto
import DeviceKeys
public import Failure
import Keybag
public import Posix

/// Accepts the keybag of a vault although this machine has seen a newer one: its owner has put it back.
public struct KeybagAcceptance: Sendable {
    private let folder: VaultFolder
    private let deviceKeyPath: Path
    /// Whether the keybag says that the device key alone opens the vault.
    public let hasNoPasscode: Bool

    public init(
        of vault: AbsolutePath, deviceKeyPath: Path?, _ claim: ClaimOptions = ClaimOptions()
    ) throws(Failure) {
        folder = try VaultFolder(vault, claim)
        let file = try OpenKeybag.inspect(folder.store)
        self.deviceKeyPath = deviceKeyPath ?? DeviceKeyFile.defaultPath(for: file.volume)
        hasNoPasscode = file.hasNoPasscode
    }

    /// - Parameter secret: what opens the older keybag, and has not been changed since.
    /// - Throws: `notOlder`, `outdatedCredential`; what an unlock does. Then nothing has changed.
    public func run(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) {
        defer { withExtendedLifetime(folder) {} }
        try OpenKeybag.acceptOlder(
            in: folder.store, deviceKey: DeviceKeyLocation.load(path: deviceKeyPath),
            by: Credential(opener, reading: secret))
    }
}

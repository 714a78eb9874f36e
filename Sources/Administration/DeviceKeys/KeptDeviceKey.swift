public import DeviceKeys
public import Failure
public import Format
public import Keybag
public import Posix
import Store

/// The device key of a vault, mounted or not, and how it is kept.
public struct KeptDeviceKey: Sendable {
    public let vault: AbsolutePath
    public let path: Path
    public let volume: VolumeIdentifier
    public let kind: DeviceKeyKind
    /// Whether all passcodes match the way in which the device key is kept.
    public let isBound: Bool

    /// - Parameter path: the file; nil for the default path.
    public init(of vault: AbsolutePath, at path: Path?) throws(Failure) {
        self.vault = vault
        let store: DirectoryStore
        do throws(Errno) { store = try DirectoryStore(path: vault.path) } catch {
            throw .file(error, doing: "open the vault", path: vault.path)
        }
        let file = try OpenKeybag.inspect(store)
        volume = file.volume
        self.path = path ?? DeviceKeyFile.defaultPath(for: volume)
        kind = try DeviceKeyLocation.kind(at: self.path)
        isBound = file.isBound(guarded: kind != .software)
    }

    public func load() throws(Failure) -> DeviceKey {
        let key = try DeviceKeyLocation.load(path: path)
        guard key.volume == volume else { throw .deviceKeyMismatch }
        return key
    }
}

import Administration
import Control
import Format
import Glibc
import Keybag
import Posix
import Store
import VaultNames

/// A copy of a vault on this machine that opens with the same device key.
struct SharedDeviceKey {
    /// The copy's folder.
    let vault: Path
    /// As in "…, which is mounted at DIR".
    let use: Printable

    /// The copies that are mounted, or that the configuration names.
    ///
    /// - Parameters:
    ///   - vault: the folder of the vault whose device key is to be destroyed.
    ///   - deviceKey: the file of that key.
    ///   - advice: besides the way to see what the configuration's error is.
    static func copies(
        of vault: AbsolutePath, _ volume: VolumeIdentifier, deviceKey: Path, advice: Printable...
    ) throws(CommandError) -> [SharedDeviceKey] {
        let mounted = SocketDirectories.reachable.mounts(volume: "\(volume)").map(\.status)
            .filter { $0.ending != true && isAnother($0.vault, than: vault) }
            .filter { isSame($0.deviceKeyFile ?? DeviceKeyFile.defaultPath(for: volume), as: deviceKey) }
            .map { SharedDeviceKey(vault: $0.vault, use: "is mounted at \($0.mountPoint)") }
        let vaults: NamedVaults
        do { vaults = try NamedVaults.load() } catch {
            throw CommandError(
                .failed, "\(error); so it is not known whether a named vault needs the same device key",
                advice: ["latchkey config check"] + advice)
        }
        let named = vaults.vaults.filter { named in
            isAnother(named.folderPath, than: vault)
                && isSame(named.keyPath ?? DeviceKeyFile.defaultPath(for: volume), as: deviceKey)
                && (try? OpenKeybag.inspect(DirectoryStore(path: named.folderPath)))?.volume == volume
        }
        .map { SharedDeviceKey(vault: $0.folderPath, use: "has the name \($0.name) (\(vaults.path), line \($0.line))") }
        return mounted + named.filter { named in !mounted.contains { isSame($0.vault, as: named.vault) } }
    }

    private static func isAnother(_ folder: Path, than vault: AbsolutePath) -> Bool {
        !isSame(folder, as: vault.path)
    }

    private static func isSame(_ path: Path, as other: Path) -> Bool {
        let resolved = [path, other].map { (try? AbsolutePath(resolving: $0)) ?? AbsolutePath(lexically: $0) }
        return resolved[0].path == resolved[1].path
    }
}

extension VolumeIdentifier {
    /// The vault of a mount; nil if its daemon does not say it properly.
    init?(status: Status) {
        guard let bytes = [UInt8](hexadecimal: status.volume), bytes.count == Self.byteCount else { return nil }
        self.init(bytes)
    }
}

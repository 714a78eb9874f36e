import Crypto
import DeviceKeys
import Format
import Glibc
import Keybag
import Store

/// The names of hosts in a vault's claims, which only those can read who have the vault's device key.
struct HostName {
    private let store: any Store
    private let keybag: KeybagFile?

    /// 64 bytes, filled with zeros, and the tag.
    private static let longest = ClaimRecord.sealedHostByteCount - 16

    init(in store: any Store) {
        self.store = store
        keybag = try? OpenKeybag.inspect(store)
    }

    /// Whether the store has a keybag.
    var isOfVault: Bool { keybag != nil }

    /// This host's, for a claim.
    ///
    /// Source: gethostname(2).
    static func sealed(_ keys: VolumeKeys) -> [UInt8]? {
        var name = [CChar](repeating: 0, count: longest + 1)
        guard unsafe gethostname(&name, longest) == 0 else { return nil }
        let bytes = name.prefix(longest).prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        guard !bytes.isEmpty else { return nil }
        let padded = bytes + [UInt8](repeating: 0, count: longest - bytes.count)
        return try? keys.claims.seal(padded, associatedData: keys.volume.bytes)
    }

    /// Nil if the device key is not in its usual place, or the name was not written with this vault's key.
    func opened(_ sealed: [UInt8]?) -> String? {
        guard let sealed, let keybag,
            let deviceKey = try? DeviceKeyLocation.load(path: DeviceKeyFile.defaultPath(for: keybag.volume)),
            let open = try? OpenKeybag.open(in: store, deviceKey: deviceKey, readOnly: true)
        else { return nil }
        return Self.opened(sealed, open.keys)
    }

    /// Nil if the name was not written with these keys.
    static func opened(_ sealed: [UInt8], _ keys: VolumeKeys) -> String? {
        guard let padded = try? keys.claims.open(sealed, associatedData: keys.volume.bytes) else { return nil }
        return String(decoding: padded.prefix { $0 != 0 }, as: UTF8.self)
    }
}

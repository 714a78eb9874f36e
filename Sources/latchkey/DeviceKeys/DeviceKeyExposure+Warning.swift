import Control
import DeviceKeys
import Glibc
import Posix

extension DeviceKeyExposure {
    /// The device key of a mount. Nil for another user's mount: the location that its daemon names is not trusted.
    init?(of mount: ServedMount) {
        guard mount.owner == geteuid() else { return nil }
        self.init(of: mount.status)
    }

    /// The device key of one of this user's daemons.
    init?(of status: Control.Status) {
        guard let path = status.deviceKeyFile else { return nil }
        self.init(known: path, inVault: status.vault)
    }

    init?(of path: String, inVault vault: String) {
        self.init(of: path, ofVaultOwnedBy: try? Descriptor.open(path: vault, O_PATH).status().owner)
    }

    var advice: Printable { "\(remedy) \(path.quoted)" }

    /// Writes two lines to standard error.
    func warn() {
        Standard.error("latchkey: warning: \(reason): \(path)\n  try: \(advice)")
    }
}

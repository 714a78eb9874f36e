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

    init?(of path: Path, inVault vault: Path) {
        self.init(of: path, ofVaultOwnedBy: try? Descriptor.open(path: vault, O_PATH).status().owner)
    }

    var advice: Printable { "\(remedy) \(path.quoted)" }

    /// Two lines for each reason, with all the device keys that it applies to.
    static func warnings(_ exposures: [DeviceKeyExposure]) -> [Printable] {
        var reasons: [[DeviceKeyExposure]] = []
        for exposure in exposures {
            let index = reasons.firstIndex { $0[0].reason == exposure.reason && $0[0].remedy == exposure.remedy }
            if let index { reasons[index].append(exposure) } else { reasons.append([exposure]) }
        }
        return reasons.map { same in
            let paths = same.map { "\($0.path.quoted)" as Printable }
            return "warning: \(same[0].reason): \(paths.joined(separator: ", "))\n"
                + "  try: \(same[0].remedy) \(paths.joined(separator: " "))"
        }
    }

    /// Writes two lines to standard error.
    func warn() {
        Standard.error("latchkey: warning: \(reason): \(path)\n  try: \(advice)")
    }
}

import Format
import Posix

/// What a command was about that failed: its words and its advice name that.
enum FailureSubject {
    /// The folder of a vault that is not mounted, as it was typed.
    case vault(String)
    /// A mount; nil where it is not known which.
    case mount(at: String?)
    /// A vault on its way to a mount.
    case mounting(String, on: String)
    /// A file that was given a class, and is to be given a new key.
    case file([UInt8], ProtectionClass)

    /// As in "… is not a vault".
    var name: String {
        switch self {
        case .vault(let vault), .mounting(let vault, _): vault
        case .mount, .file: "the vault"
        }
    }

    /// As in "… is damaged".
    var theVault: Printable {
        switch self {
        case .vault(let vault), .mounting(let vault, _): "the vault \(vault)"
        case .mount, .file: "the vault"
        }
    }

    /// What another command takes for it.
    var argument: Printable {
        switch self {
        case .vault(let vault), .mounting(let vault, _): vault.quoted
        case .mount(let point): point?.quoted ?? "DIR"
        case .file(let path, _): path.quoted
        }
    }

    /// The mount point, as another command takes it.
    var point: Printable {
        switch self {
        case .vault, .mount(nil), .file: "DIR"
        case .mount(let point?), .mounting(_, let point): point.quoted
        }
    }

    var mountPoint: String {
        switch self {
        case .vault, .mount(nil), .file: "DIR"
        case .mount(let point?), .mounting(_, let point): point
        }
    }

    /// As in "… is locked", of a file.
    var file: Printable {
        if case .file(let path, _) = self { "\(path)" } else { "the file" }
    }

    /// What has come of it all the same.
    var nothing: Printable {
        if case .mounting = self { "nothing was mounted" } else { "nothing was changed" }
    }

    /// Words that do not say what was tried, with that before them where it is the whole of a mount.
    func whole(_ words: Printable) -> Printable {
        if case .mounting(let vault, _) = self { "cannot mount \(vault): \(words)" } else { words }
    }

    /// The same with the device key that is the vault's.
    var wayWithDeviceKey: Printable {
        switch self {
        case .mounting: "latchkey mount --device-key PATH \(argument) \(point)"
        case .vault, .mount, .file: "the same with --device-key PATH"
        }
    }

    /// What helps where there is no device key.
    ///
    /// - Parameter isInTheWay: whether something else lies where it should be.
    func waysWithoutDeviceKey(isInTheWay: Bool = false) -> [Printable] {
        let recovery: Printable =
            switch self {
            case .mounting where isInTheWay:
                "latchkey mount --recovery --device-key NEW-PATH \(argument) \(point)   (with the recovery key)"
            case .mounting, .vault, .mount, .file:
                "latchkey mount --recovery \(argument) \(point)   (with the recovery key; makes a new device key)"
            }
        return [wayWithDeviceKey, recovery]
    }
}

import Format
import Posix

/// The object of the command that failed, which its message and advice name.
enum FailureSubject {
    /// The folder of an unmounted vault, as it was typed.
    case vault(Path)
    /// A mount; nil if it is not known which one.
    case mount(at: Path?)
    /// A vault that is being mounted.
    case mounting(Path, on: Path)
    /// A file that got a class, and is to get a new key.
    case file([UInt8], ProtectionClass)

    /// As in "… is not a vault".
    var name: Printable {
        switch self {
        case .vault(let vault), .mounting(let vault, _): vault.printable
        case .mount, .file: "the vault"
        }
    }

    /// The vault's folder.
    var folder: Path {
        switch self {
        case .vault(let vault), .mounting(let vault, _): vault
        case .mount, .file: "VAULT"
        }
    }

    /// As in "… is damaged".
    var theVault: Printable {
        switch self {
        case .vault(let vault), .mounting(let vault, _): "the vault \(vault)"
        case .mount, .file: "the vault"
        }
    }

    /// The argument for another command.
    var argument: Printable {
        switch self {
        case .vault(let vault), .mounting(let vault, _): vault.quoted
        case .mount(let point): point?.quoted ?? "DIR"
        case .file(let path, _): path.quoted
        }
    }

    /// The mount point, as an argument for another command.
    var point: Printable {
        switch self {
        case .vault, .mount(nil), .file: "DIR"
        case .mount(let point?), .mounting(_, let point): point.quoted
        }
    }

    var mountPoint: Path {
        switch self {
        case .vault, .mount(nil), .file: "DIR"
        case .mount(let point?), .mounting(_, let point): point
        }
    }

    /// As in "… is locked", of a file.
    var file: Printable {
        if case .file(let path, _) = self { "\(path)" } else { "the file" }
    }

    /// What the failure left undone.
    var nothing: Printable {
        if case .mounting = self { "nothing was mounted" } else { "nothing was changed" }
    }

    /// For words that do not name the operation: puts it before them if it is a mount.
    func whole(_ words: Printable) -> Printable {
        if case .mounting(let vault, _) = self { "cannot mount \(vault): \(words)" } else { words }
    }

    /// What to do about a system call that failed in the vault's folder.
    func advice(about errno: Errno) -> [Printable] {
        switch self {
        case .vault(let vault): MachineAdvice.forFileSystem(of: vault, errno)
        case .mounting(let vault, let point):
            (errno == .EROFS ? ["latchkey mount -o ro \(vault.quoted) \(point.quoted)"] : [])
                + MachineAdvice.forFileSystem(of: vault, errno)
        case .mount, .file: []
        }
    }

    /// The way to use the vault's own device key.
    var wayWithDeviceKey: Printable {
        switch self {
        case .mounting: "latchkey mount --device-key PATH \(argument) \(point)"
        case .vault, .mount, .file: "the same with --device-key PATH"
        }
    }

    /// The ways to open the vault without its device key.
    ///
    /// - Parameter isInTheWay: whether another file lies at the device key's path.
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

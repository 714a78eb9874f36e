import Administration
import Crypto
import DeviceKeys
import Failure
import Format
import Freshness
import Keybag
import Posix
import Store
import Vault

/// An unmounted vault, opened with its device key for a check.
struct CheckedVault {
    let vault: Vault
    let volume: String
    /// Whether `lk.keybag` is damaged or missing, and `lk.keybag.old` is used instead.
    let hasPreviousKeybag: Bool
    /// Whether this machine has seen a newer keybag.
    let hasOlderKeybag: Bool

    /// - Parameters:
    ///   - credential: yields the keys of all classes; tried before anything is changed.
    ///   - comparing: compare the files with what this machine remembers of them.
    ///   - isRepaired: whether the vault may be written to: a previous keybag then replaces a damaged one.
    init(
        in folder: VaultFolder, deviceKeyPath: Path?, _ credential: borrowing Credential?, isRepaired: Bool,
        comparing: Bool
    ) throws(Failure) {
        let volume = try OpenKeybag.inspect(folder.store).volume
        let deviceKeyPath = deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume)
        func open(readOnly: Bool) throws(Failure) -> OpenKeybag {
            let key = try DeviceKeyLocation.load(path: deviceKeyPath)
            return try OpenKeybag.open(in: folder.store, deviceKey: key, readOnly: readOnly)
        }
        let keybag = try open(readOnly: true)
        hasPreviousKeybag = keybag.isPrevious
        hasOlderKeybag = keybag.isOlder
        self.volume = "\(keybag.volume)"
        let settings = keybag.settings
        let traits = StoreTraits(
            nameMax: Int(settings.nameMaximum),
            recordKind: settings.directoryRecords == .file ? .file : .symbolicLink,
            numbersDirectories: keybag.file.numbersDirectories,
            numbersBlocks: keybag.file.numbersBlocks)
        vault = Vault(
            store: folder.store, keys: keybag.keys, ring: keybag.ring, traits: traits,
            isReadOnly: !isRepaired, freshness: comparing ? try Self.seen(of: keybag, deviceKeyPath) : nil,
            machine: keybag.machine)
        switch credential {
        case .none: break
        case .some(let credential) where credential.kind == .noPasscode && !keybag.hasNoPasscode: break
        case .some(let credential): vault.admit(try keybag.unlock(credential))
        }
        if isRepaired { _ = try open(readOnly: false) }
    }

    /// What this machine remembers of the files. A check adds nothing to it.
    private static func seen(of keybag: OpenKeybag, _ deviceKeyPath: Path) throws(Failure) -> FreshnessWatch {
        let path = DeviceKeyFile.marksPath(besides: deviceKeyPath)
        do throws(Errno) {
            let marks = try Marks(reading: path, volume: keybag.volume, cipher: keybag.keys.marks)
            return FreshnessWatch(marks, .warn, remembers: false)
        } catch .ENOENT {
            throw .failed(
                reason: "\("this machine remembers nothing of the vault's files: there is no \(path)" as Printable)")
        } catch { throw .io(error, doing: "\("reading \(path)" as Printable)") }
    }

    /// The letters of the classes whose contents can be read.
    var readableClasses: [String] { ProtectionClass.allCases.filter(vault.canOpen).map(\.letter) }
}

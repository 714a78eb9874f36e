public import Control
public import Crypto
import DeviceKeys
public import Failure
import Format
import Keybag
public import Posix

/// The slots of an unmounted vault, which is locked for this process while the object exists.
public struct FolderSlots: SlotHolder {
    private let folder: VaultFolder
    private let keybag: OpenKeybag
    public let vault: Path
    public var mountPoint: Path? { nil }

    public init(
        _ vault: AbsolutePath, deviceKeyPath: Path?, _ claim: ClaimOptions = ClaimOptions()
    ) throws(Failure) {
        let folder = try VaultFolder(vault, claim)
        self.folder = folder
        self.vault = vault.path
        let volume = try OpenKeybag.inspect(folder.store).volume
        let path = deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume)
        keybag = try OpenKeybag.open(in: folder.store, deviceKey: DeviceKeyLocation.load(path: path))
    }

    public var isGuarded: Bool { keybag.isGuarded }

    public var hasNoPasscode: Bool { keybag.hasNoPasscode }

    public func proof() -> String? { keybag.proof?.text }

    public func list() -> [Slot] { keybag.file.slots.map { Slot($0) } }

    public func add(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(Failure) -> Int {
        guard let label = SlotLabel(name) else { throw .labelTooLong }
        return try withCredential(opener, secret) { (credential) throws(Failure) in
            Int(try keybag.addSlot(NewSlot(new), label: label, opening: credential))
        }
    }

    public func remove(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(Failure) {
        try withCredential(opener, secret) { (credential) throws(Failure) in
            try keybag.removeSlot(UInt32(clamping: slot), opening: credential)
        }
    }

    public func changePasscode(
        _ opener: Opener, from old: borrowing Secret, to new: borrowing Secret, allowingWeak: Bool
    ) throws(Failure) {
        defer { withExtendedLifetime(folder) {} }
        try keybag.changePasscode(from: Credential(opener, reading: old), to: new, allowingWeak: allowingWeak)
    }

    public func test(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> Int {
        try withCredential(opener, secret) { (credential) throws(Failure) in
            Int(try keybag.slot(openedBy: credential))
        }
    }

    private func withCredential<Result>(
        _ opener: Opener, _ secret: borrowing Secret,
        _ body: (borrowing Credential) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(folder) {} }
        return try body(Credential(opener, reading: secret))
    }
}

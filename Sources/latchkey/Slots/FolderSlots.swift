import Control
import Crypto
import Daemon
import DeviceKeys
import Failure
import Format
import Keybag

/// The slots of a vault that is not mounted, kept from other processes for as long as this is there.
struct FolderSlots: SlotHolder {
    private let folder: VaultFolder
    private let keybag: OpenKeybag
    let vault: String

    init(_ vault: AbsolutePath, deviceKeyPath: String?) throws(CommandError) {
        let folder = try VaultFolder(vault)
        self.folder = folder
        self.vault = vault.text
        keybag = try withKeybag(of: vault.text) { () throws(Failure) in
            let volume = try OpenKeybag.inspect(folder.store).volume
            let path = deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume)
            return try OpenKeybag.open(in: folder.store, deviceKey: DeviceKeyPlace.load(path: path))
        }
    }

    var isGuarded: Bool { keybag.isGuarded }

    func proof() -> String? { keybag.proof?.text }

    func list() -> [Slot] { keybag.file.slots.map { Slot($0) } }

    func add(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(CommandError) -> Int {
        guard let label = SlotLabel(name) else { throw CommandError(.usage, "a name has at most 255 bytes") }
        return try withCredential(opener, secret) { (credential) throws(Failure) in
            Int(try keybag.addSlot(NewSlot(new), label: label, opening: credential))
        }
    }

    func remove(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(CommandError) {
        try withCredential(opener, secret) { (credential) throws(Failure) in
            try keybag.removeSlot(UInt32(clamping: slot), opening: credential)
        }
    }

    func test(_ opener: Opener, _ secret: borrowing Secret) throws(CommandError) -> Int {
        try withCredential(opener, secret) { (credential) throws(Failure) in
            Int(try keybag.slot(openedBy: credential))
        }
    }

    private func withCredential<Result>(
        _ opener: Opener, _ secret: borrowing Secret,
        _ body: (borrowing Credential) throws(Failure) -> Result
    ) throws(CommandError) -> Result {
        defer { withExtendedLifetime(folder) {} }
        do throws(Failure) {
            return try body(Credential(opener, reading: secret))
        } catch { throw CommandError(error, of: vault) }
    }
}

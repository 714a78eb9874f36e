import Control
import Crypto
import Daemon
import Format
import Keybag
import Store

/// What has a vault's keybag open: the daemon of its mount, or this process.
protocol SlotHolder {
    /// The vault's path.
    var vault: String { get }

    /// Whether a chip counts wrong passcodes.
    var isGuarded: Bool { get }

    /// What the holder of an escrow key knows the vault by, once something has opened it.
    func proof() throws(CommandError) -> String?

    func list() throws(CommandError) -> [Slot]

    func add(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(CommandError) -> Int

    func remove(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(CommandError)

    /// The number of the slot that the secret opens.
    func test(_ opener: Opener, _ secret: borrowing Secret) throws(CommandError) -> Int
}

/// The one of what a person has named.
func slotHolder(of path: String, deviceKey: String?) throws(CommandError) -> any SlotHolder {
    switch try Place.of(path) {
    case .mount(let mount): return MountedSlots(mount)
    case .vault(let vault): return try FolderSlots(vault, deviceKeyPath: deviceKey)
    case .orphan(let entry):
        throw SilentMount(entry).error
    }
}

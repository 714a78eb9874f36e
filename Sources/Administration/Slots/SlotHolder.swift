public import Control
public import Crypto
public import Failure
public import Posix

/// Has a vault's keybag open: the daemon of its mount, or this process.
public protocol SlotHolder {
    /// The vault's path.
    var vault: Path { get }

    /// Where it is mounted; nil for an unmounted vault.
    var mountPoint: Path? { get }

    /// Whether a chip counts wrong passcodes.
    var isGuarded: Bool { get }

    /// Whether the device key alone opens the vault.
    var hasNoPasscode: Bool { get }

    /// The proof by which the holder of an escrow key knows the vault; nil before the first unlock.
    func proof() throws(Failure) -> String?

    func list() throws(Failure) -> [Slot]

    func add(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(Failure) -> Int

    func remove(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(Failure)

    /// Sets another passcode, or the first one of a vault that has none.
    func changePasscode(
        _ opener: Opener, from old: borrowing Secret, to new: borrowing Secret, allowingWeak: Bool
    ) throws(Failure)

    /// The number of the slot that the secret opens.
    func test(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> Int
}

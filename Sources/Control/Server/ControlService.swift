import Failure
import Posix

/// What a daemon does for `io.latchkey`. Each connection calls from a thread of its own, and may be kept waiting.
public protocol ControlService: AnyObject, Sendable {
    var status: Status { get }

    /// The present status, or the changes after a position if they are known still, and each change of state after that.
    func subscribe(after position: MonitorPosition?) throws(Failure) -> StatusSubscription

    /// Starts the grace or the eviction, and returns without waiting for its end.
    func lock(now: Bool) -> Status

    /// Reads the secret from the descriptor, to its end, and opens all classes.
    func unlock(_ opener: Opener, secret: Descriptor) throws(Failure) -> Status

    /// - Parameter opener: of the old one: a passcode, or none.
    func changePasscode(
        _ opener: Opener, from old: Descriptor, to new: Descriptor, allowingWeak: Bool
    ) throws(Failure)

    /// The ways into the vault.
    var slots: [Slot] { get }

    /// Adds a way in: its number. `secret` opens the vault now.
    func addSlot(
        _ new: NewSlotSource, name: String, opening opener: Opener, secret: Descriptor
    ) throws(Failure) -> Int

    func removeSlot(_ slot: Int, opening opener: Opener, secret: Descriptor) throws(Failure)

    /// The number of the slot that the secret opens.
    func testSlot(_ opener: Opener, secret: Descriptor) throws(Failure) -> Int

    /// Begins to give the files new keys, and returns without waiting for its end; nil goes on with what is not finished.
    func rotate(_ new: NewRotation?) throws(Failure) -> Status

    func explain(_ file: Descriptor) throws(Failure) -> Explanation

    /// The long names of the classes of files that are open, by their `st_ino`; empty for what is no open file. Waits for no
    /// file.
    func classes(ofInodes inodes: [UInt64]) -> [String]

    func unmount(lazily: Bool) throws(Failure)

    /// Destroys the vault's keys; `endErased` comes after the answer.
    ///
    /// - Returns: what became of the device key.
    /// - Throws: `erased` if something could not be destroyed.
    func erase() throws(Failure) -> String

    /// Ends the process after an `erase`, or a call that was refused with `erased`: the keys on the disk are destroyed, those in memory go.
    func endErased()
}

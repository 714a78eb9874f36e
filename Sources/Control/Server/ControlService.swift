import Failure
import Posix

/// What a daemon does for `io.latchkey`. Each connection calls it from a thread of its own, and calls may block.
public protocol ControlService: AnyObject, Sendable {
    var status: Status { get }

    /// Subscribes to the present status, or to the changes after a position if they are still known, and to all later
    /// ones.
    func subscribe(after position: MonitorPosition?) throws(Failure) -> StatusSubscription

    /// Starts the grace period or the eviction, and returns without waiting for its end.
    ///
    /// - Parameters:
    ///   - deep: takes the key of class C as well.
    ///   - begun: the number of the lock that the client holds already, which this one replaces; set to the number of
    ///     this lock if the grace period runs, else to nil.
    func lock(now: Bool, deep: Bool, begun: inout UInt64?) -> Status

    /// Takes back a lock of `lock`, unless its deadline has passed. The grace period goes on as long as another lock
    /// stands that was requested in it; the status says whether.
    func takeBackLock(_ lock: UInt64) -> Status

    /// Lets a lock wait for a program, at most as long as the policy allows.
    ///
    /// - Parameter wanted: who asks, and for how many seconds; its texts are bounded.
    /// - Throws: `forbidden`, `mountLocked` or `tooManyHolds`.
    func hold(_ wanted: Hold) throws(Failure) -> GrantedHold

    /// Answers the requests that wait for an unlock with EINTR. As long as the result lives, none waits.
    func interruptWaiting() -> WaitingInterruption

    /// Reads the secret from the descriptor to its end, and opens all classes.
    func unlock(_ opener: Opener, secret: Descriptor) throws(Failure) -> Status

    /// - Parameter opener: the kind of the old secret: a passcode, or no passcode.
    func changePasscode(
        _ opener: Opener, from old: Descriptor, to new: Descriptor, allowingWeak: Bool
    ) throws(Failure)

    /// The slots of the vault.
    var slots: [Slot] { get }

    /// Adds a slot and returns its number. `secret` opens the vault now.
    func addSlot(
        _ new: NewSlotSource, name: String, opening opener: Opener, secret: Descriptor
    ) throws(Failure) -> Int

    func removeSlot(_ slot: Int, opening opener: Opener, secret: Descriptor) throws(Failure)

    /// The number of the slot that the secret opens.
    func testSlot(_ opener: Opener, secret: Descriptor) throws(Failure) -> Int

    /// Begins a rotation, and returns without waiting for its end; nil continues an unfinished one.
    func rotate(_ new: NewRotation?) throws(Failure) -> Status

    func explain(_ file: Descriptor, _ name: Name?) throws(Failure) -> Explanation

    /// The long names of the classes of open files, by their `st_ino`; empty for an inode that is no open file. Waits
    /// for no file.
    func classes(ofInodes inodes: [UInt64]) -> [String]

    /// What is in the vault now is as it should be, whatever this machine has seen: one file, or everything.
    func accept(_ file: Descriptor?) throws(Failure)

    func unmount(lazily: Bool) throws(Failure)

    /// Destroys the vault's keys. The connection calls `endErased` after its answer.
    ///
    /// - Returns: what became of the device key; empty if it was kept.
    /// - Throws: `erased` if something could not be destroyed.
    func erase(keepingDeviceKey: Bool) throws(Failure) -> String

    /// Ends the process after an `erase`, or after a call that failed with `erased`: the keys on the disk are
    /// destroyed, and those in memory are wiped.
    func endErased()
}

extension ControlService {
    /// For a caller that takes nothing back.
    @discardableResult
    public func lock(now: Bool, deep: Bool = false) -> Status {
        var begun: UInt64?
        return lock(now: now, deep: deep, begun: &begun)
    }
}

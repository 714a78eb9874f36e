import Posix

/// What a daemon does for `io.latchkey`. Each connection calls from a thread of its own, and may be kept waiting.
public protocol ControlService: AnyObject, Sendable {
    var status: Status { get }

    /// The present status, and each change of state after it.
    func subscribe() throws(ControlError) -> StatusSubscription

    /// Starts the grace or the eviction, and returns without waiting for its end.
    func lock(now: Bool) -> Status

    /// Reads the secret from the descriptor, to its end, and opens all classes.
    func unlock(_ kind: SecretKind, secret: Descriptor) throws(ControlError) -> Status

    func changePasscode(from old: Descriptor, to new: Descriptor) throws(ControlError)

    func explain(_ file: Descriptor) throws(ControlError) -> Explanation

    func unmount(lazily: Bool) throws(ControlError)
}

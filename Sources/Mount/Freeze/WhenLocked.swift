/// How the mount treats a request for contents that are locked.
public enum WhenLocked: Hashable, Sendable {
    /// The request fails with ENOKEY.
    case fail
    /// An open(2) or read(2) waits for the next unlock, and fails only after the timeout; nil waits without limit.
    /// Requests that would hold up others fail at once: `docs/FREEZE.md`.
    case freeze(timeout: Duration?)

    var isFreeze: Bool { self != .fail }
}

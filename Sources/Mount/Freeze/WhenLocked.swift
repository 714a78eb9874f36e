/// What becomes of a request for contents that are locked.
public enum WhenLocked: Hashable, Sendable {
    /// It is refused, with ENOKEY.
    case fail
    /// An open(2) or read(2) waits for the next unlock, and is refused only if that does not come in time; nil waits
    /// without end. What cannot wait without holding up others is refused as ever: `docs/FREEZE.md`.
    case freeze(timeout: Duration?)

    var isFreeze: Bool { self != .fail }
}

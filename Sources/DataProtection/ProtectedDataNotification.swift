internal import Control

/// What happens to the files of class `complete`.
public enum ProtectedDataNotification: String, Hashable, Sendable {
    /// A lock was asked for. The grace is the time to finish with these files; `lock --now` leaves none.
    case willBecomeUnavailable
    /// The keys are out of memory.
    case didBecomeUnavailable
    /// It was unlocked, or the lock was taken back within the grace.
    case didBecomeAvailable

    /// What it means that one state follows another; nil for nothing.
    init?(from old: Status.State, to new: Status.State) {
        switch (old, new) {
        case (.unlocked, .locking): self = .willBecomeUnavailable
        case (.unlocked, .locked), (.locking, .locked): self = .didBecomeUnavailable
        case (.beforeFirstUnlock, .unlocked), (.locking, .unlocked), (.locked, .unlocked): self = .didBecomeAvailable
        // The end of the grace, when the keys begin to go, is no news to those who heard of its beginning.
        default: return nil
        }
    }
}

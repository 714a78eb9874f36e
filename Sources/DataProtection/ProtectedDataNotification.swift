internal import Control

/// A change in the availability of files of class `complete`.
public enum ProtectedDataNotification: String, Hashable, Sendable {
    /// A lock was requested. Programs can use the grace period to finish with these files; `lock --now` leaves none.
    case willBecomeUnavailable
    /// The keys are gone from memory.
    case didBecomeUnavailable
    /// The mount was unlocked, or the lock was cancelled in the grace period.
    case didBecomeAvailable

    /// The notification for a change of state; nil if there is none.
    init?(from old: Status.State, to new: Status.State) {
        switch (old, new) {
        case (.unlocked, .locking): self = .willBecomeUnavailable
        case (.unlocked, .locked), (.locking, .locked): self = .didBecomeUnavailable
        // A deep lock.
        case (.unlocked, .beforeFirstUnlock), (.locking, .beforeFirstUnlock): self = .didBecomeUnavailable
        case (.beforeFirstUnlock, .unlocked), (.locking, .unlocked), (.locked, .unlocked): self = .didBecomeAvailable
        // The end of the grace period, when the eviction begins, has no notification of its own: its start had one.
        default: return nil
        }
    }
}

/// Which keys a mounted vault may use; the raw value is its name for people and in JSON.
public enum LockState: String, Sendable, CaseIterable {
    /// No passcode has been given since the mount: class D only, and creating in B.
    case beforeFirstUnlock = "before-first-unlock"
    case unlocked
    /// Locked, the grace is running: all still works, and unlocking cancels.
    case locking
    /// The keys of A and of B's closed files are gone.
    case locked
}

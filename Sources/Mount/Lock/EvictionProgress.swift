import Synchronization

/// What an eviction is doing.
public enum EvictionStep: Hashable, Sendable {
    /// The kernel writes back dirty pages of mappings.
    case flushing
    /// The kernel drops its pages of this many more inodes, in this pass.
    case invalidating(left: Int)
    /// The eviction waits for requests that hold a key, and wipes keys.
    case wiping
}

/// The current step of an eviction, for `latchkey status`.
final class EvictionProgress: Sendable {
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex<EvictionStep?>(nil)

    /// Nil while none runs.
    var step: EvictionStep? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

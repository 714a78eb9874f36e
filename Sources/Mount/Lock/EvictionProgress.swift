import Synchronization

/// What an eviction is about.
public enum EvictionStep: Hashable, Sendable {
    /// The kernel writes back dirty pages of mappings.
    case flushing
    /// The kernel drops its pages of so many inodes yet, in this pass.
    case invalidating(left: Int)
    /// Requests that hold a key are waited for, and keys are wiped.
    case wiping
}

/// Where an eviction is, for those who want to tell. A leaf: nothing else is locked under it.
final class EvictionProgress: Sendable {
    private let state = Mutex<EvictionStep?>(nil)

    /// Nil while none runs.
    var step: EvictionStep? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

import Synchronization
import Writeback

/// What a write looks at before it takes its file's lock, to reserve room in the journal.
///
/// It is the state as it was a moment ago, perhaps in the middle of a change: the write looks at the room again once it
/// holds the lock. Thread-safe; never blocks.
struct FileOutline: ~Copyable, Sendable {
    private let lengthNow: Atomic<UInt64>
    private let durableEndNow: Atomic<UInt64>
    private let isUnprovenNow: Atomic<Bool>

    init(_ state: FileState) {
        lengthNow = Atomic(state.length)
        durableEndNow = Atomic(state.durable.end)
        isUnprovenNow = Atomic(state.repair.isUnproven)
    }

    /// Only under the file's lock, held exclusively. It takes no `FileState`, whose parts a copy would retain.
    func follow(_ length: UInt64, _ durableEnd: UInt64, isUnproven: Bool) {
        lengthNow.store(length, ordering: .relaxed)
        durableEndNow.store(durableEnd, ordering: .relaxed)
        isUnprovenNow.store(isUnproven, ordering: .relaxed)
    }

    var length: UInt64 { lengthNow.load(ordering: .relaxed) }
    var durableEnd: UInt64 { durableEndNow.load(ordering: .relaxed) }
    /// See `RepairState`. It does not become true after the file was opened.
    var isUnproven: Bool { isUnprovenNow.load(ordering: .relaxed) }
}

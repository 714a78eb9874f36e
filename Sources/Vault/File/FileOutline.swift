import Format
import Synchronization
import Writeback

/// What requests look at before they take a file's lock: to pass the gate of its class, and to reserve room in the
/// journal.
///
/// It is the state as it was a moment ago: a request looks again once it holds the lock. Thread-safe; never blocks.
struct FileOutline: ~Copyable, Sendable {
    private let classNumber: Atomic<UInt8>
    private let lengthNow: Atomic<UInt64>
    private let durableEndNow: Atomic<UInt64>
    private let isUnprovenNow: Atomic<Bool>

    init(_ state: FileState) {
        classNumber = Atomic(state.header.protectionClass.rawValue)
        lengthNow = Atomic(state.length)
        durableEndNow = Atomic(state.durable.end)
        isUnprovenNow = Atomic(state.repair.isUnproven)
    }

    /// Only under the file's lock, held exclusively.
    func follow(_ state: FileState) {
        classNumber.store(state.header.protectionClass.rawValue, ordering: .releasing)
        lengthNow.store(state.length, ordering: .relaxed)
        durableEndNow.store(state.durable.end, ordering: .relaxed)
        isUnprovenNow.store(state.repair.isUnproven, ordering: .relaxed)
    }

    var protectionClass: ProtectionClass { ProtectionClass(rawValue: classNumber.load(ordering: .acquiring))! }
    var length: UInt64 { lengthNow.load(ordering: .relaxed) }
    var durableEnd: UInt64 { durableEndNow.load(ordering: .relaxed) }
    /// See `RepairState`.
    var isUnproven: Bool { isUnprovenNow.load(ordering: .relaxed) }
}

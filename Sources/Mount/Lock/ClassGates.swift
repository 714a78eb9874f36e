import Format
import Posix
import Synchronization

/// The kinds of access to a file's contents that a gate tells apart.
enum Access {
    /// Creation of a file under a new name.
    case create
    /// Contents, or a change of class, without a handle.
    case open
    /// Contents through a handle that is open already.
    case use
    /// As `use`, by a request that changes nothing.
    case read
    /// A dirty page of a mapping, written back by the kernel.
    case page
}

/// Decides for each request whether the contents of its class are accessible now.
///
/// A handler holds its class's gate shared from admission until its reply is sent. So after a thread has held a gate
/// exclusively, no request that was admitted before is still under way. Each class has its own lock, so that a long
/// write to one class does not stall the others. No gate is held across a notification to the kernel.
final class ClassGates: Sendable {
    enum State: UInt8, AtomicRepresentable {
        /// Admits everything.
        case open
        /// Admits only dirty pages, creation and open handles in class B and, on a mount that freezes, reads.
        case evicting
        /// The class key is wiped.
        case closed
    }

    private let gates: [Gate]
    /// Of A and B: nanoseconds of the boot clock.
    private let deadline = Atomic(Int64.max)
    /// The same of C.
    private let deepDeadline = Atomic(Int64.max)

    /// - Parameter servesReads: whether READ is admitted as long as the key is in memory. On a mount that freezes it
    ///   must be: a program in the middle of read(2) has passed the point where it could wait.
    init(servesReads: Bool, canOpen: (ProtectionClass) -> Bool) {
        gates = ProtectionClass.allCases.map { Gate($0, canOpen($0) ? .open : .closed, servesReads: servesReads) }
    }

    private func gate(_ protectionClass: ProtectionClass) -> Gate { gates[Int(protectionClass.rawValue) - 1] }

    /// The current state; it may change at once.
    func state(of protectionClass: ProtectionClass) -> State {
        gate(protectionClass).state.load(ordering: .sequentiallyConsistent)
    }

    /// Opens the gates of some classes. Does not block: a request that is stuck must not delay the next lock.
    func open(_ classes: [ProtectionClass]) {
        for protectionClass in classes { gate(protectionClass).state.store(.open, ordering: .sequentiallyConsistent) }
    }

    /// Makes the gates of some classes stricter at once; returns when all handlers that were admitted before have
    /// replied. A gate that is as strict already stays as it is.
    ///
    /// Not while another thread opens or shuts gates.
    func shut(to state: State, _ classes: [ProtectionClass]) {
        for protectionClass in classes where self.state(of: protectionClass).rawValue < state.rawValue {
            gate(protectionClass).state.store(state, ordering: .sequentiallyConsistent)
        }
        for protectionClass in classes { drain(protectionClass) }
    }

    /// From a time of the boot clock on, treats the open gates that a lock of this depth closes as `evicting`, even if
    /// the eviction begins later: a machine that wakes up after the deadline must not serve contents first. An earlier
    /// deadline stands. Does not block.
    func close(at deadline: Duration, _ depth: LockDepth) {
        self.deadline.min(deadline.nanoseconds, ordering: .sequentiallyConsistent)
        if depth == .deep { deepDeadline.min(deadline.nanoseconds, ordering: .sequentiallyConsistent) }
    }

    /// Moves the deadline of a lock of this depth, also to a later time, because a program holds the lock. Not after
    /// the present deadline: then contents were refused already. Does not block.
    func move(to deadline: Duration, _ depth: LockDepth) {
        self.deadline.store(deadline.nanoseconds, ordering: .sequentiallyConsistent)
        if depth == .deep { deepDeadline.store(deadline.nanoseconds, ordering: .sequentiallyConsistent) }
    }

    /// Takes back all deadlines. Does not block.
    func forgetDeadlines() {
        deadline.store(.max, ordering: .sequentiallyConsistent)
        deepDeadline.store(.max, ordering: .sequentiallyConsistent)
    }

    /// How long after the deadline a mount that freezes serves reads. That suffices for a read(2) in progress; a
    /// machine that slept past it serves none.
    private static let readsEnd: Int64 = 1_000_000_000

    private func lateness(of protectionClass: ProtectionClass) -> Lateness {
        let deadline: Int64 =
            switch protectionClass {
            case .complete, .completeUnlessOpen: deadline.load(ordering: .sequentiallyConsistent)
            case .completeUntilFirstUserAuthentication: deepDeadline.load(ordering: .sequentiallyConsistent)
            case .none: .max
            }
        guard deadline != .max else { return .none }
        let passed = BootClock.now.nanoseconds - deadline
        return passed < 0 ? .none : passed < Self.readsEnd ? .due : .overdue
    }

    /// Returns when all handlers inside the gate of a class have replied.
    func drain(_ protectionClass: ProtectionClass) {
        gate(protectionClass).lock.withExclusive {}
    }

    /// Enters the gate of a class; false if it does not admit this access. After true, the caller must call `leave`.
    func admit(_ protectionClass: ProtectionClass, for access: Access) -> Bool {
        let gate = gate(protectionClass)
        // First without the lock: a waiting drain blocks new readers, and itself waits for requests that may be stuck
        // on a slow disk. A request that will be refused must not wait for them.
        guard gate.admits(access, lateness(of: protectionClass)) else { return false }
        gate.lock.lockShared()
        // Once more: the wait for the lock may have taken as long as the disk does.
        if gate.admits(access, lateness(of: protectionClass)) { return true }
        gate.lock.unlockShared()
        return false
    }

    func leave(_ protectionClass: ProtectionClass) {
        gate(protectionClass).lock.unlockShared()
    }
}

/// How far the deadline has passed.
private enum Lateness {
    case none, due, overdue
}

private final class Gate: Sendable {
    /// Held shared by each admitted handler until its reply. Lock order: docs/ARCHITECTURE.md.
    let lock = ReadWriteLock()
    let protectionClass: ProtectionClass
    /// A thread that makes it stricter then holds `lock` exclusively for an instant. Handlers that were admitted before
    /// have left by then, and later ones see the new state.
    let state: Atomic<ClassGates.State>
    let servesReads: Bool

    init(_ protectionClass: ProtectionClass, _ state: ClassGates.State, servesReads: Bool) {
        self.protectionClass = protectionClass
        self.servesReads = servesReads
        self.state = Atomic(state)
    }

    func admits(_ access: Access, _ lateness: Lateness) -> Bool {
        var state = state.load(ordering: .sequentiallyConsistent)
        if lateness != .none, state == .open { state = .evicting }
        return switch (state, protectionClass, access) {
        case (.open, _, _): true
        case (_, .completeUnlessOpen, .open): false
        case (_, .completeUnlessOpen, _): true
        case (.evicting, _, .page): true
        case (.evicting, _, .read): servesReads && lateness != .overdue
        case (.evicting, _, _), (.closed, _, _): false
        }
    }
}

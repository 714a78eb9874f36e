import Format
import Posix
import Synchronization

/// What a request wants of a file's contents.
enum Access {
    /// A name that is not there yet.
    case create
    /// Contents, or a change of class, without a handle.
    case open
    /// Contents through a handle that was opened earlier.
    case use
    /// The same, by a request that changes nothing.
    case read
    /// A dirty page of a mapping, written back by the kernel.
    case page
}

/// Whether the contents of each class can be had now, decided request by request.
///
/// A handler holds its class's gate shared from the moment that it is let in until its reply is sent, so that who has
/// held a gate exclusively knows: nothing that was let in before is still under way. One lock for each class, so that
/// a long write to one class does not stall the others.
///
/// Lock order: the tree's lock, a gate, a node's state, a `File`'s lock. Never held across a notification to the
/// kernel.
final class ClassGates: Sendable {
    enum State: UInt8, AtomicRepresentable {
        /// Everything goes.
        case open
        /// Only dirty pages are taken still (and what class B allows through handles, and reads where they may not
        /// fail).
        case evicting
        /// The class key is away.
        case closed
    }

    private let gates: [Gate]
    /// Nanoseconds of the boot clock.
    private let deadline = Atomic(Int64.max)

    /// - Parameter servesReads: whether who reads is let in as long as the key is there: one who is in the middle of
    ///   read(2) is past the place where he could wait.
    init(servesReads: Bool, canOpen: (ProtectionClass) -> Bool) {
        gates = ProtectionClass.allCases.map { Gate($0, canOpen($0) ? .open : .closed, servesReads: servesReads) }
    }

    private func gate(_ protectionClass: ProtectionClass) -> Gate { gates[Int(protectionClass.rawValue) - 1] }

    /// The state at a glance: it may change the next moment.
    func state(of protectionClass: ProtectionClass) -> State {
        gate(protectionClass).state.load(ordering: .sequentiallyConsistent)
    }

    /// Lets everything in. Waits for nobody: a request that is stuck must not stand before a lock that comes next.
    func open(_ classes: [ProtectionClass]) {
        for protectionClass in classes { gate(protectionClass).state.store(.open, ordering: .sequentiallyConsistent) }
    }

    /// Lets less into some classes, from this moment on. When this returns, all handlers that were let in before have
    /// replied.
    func shut(to state: State, _ classes: [ProtectionClass]) {
        for protectionClass in classes { gate(protectionClass).state.store(state, ordering: .sequentiallyConsistent) }
        for protectionClass in classes { drain(protectionClass) }
    }

    /// Lets no more into A and B from a time of the boot clock on than while the keys are being taken out, whenever
    /// that is begun: a machine that wakes up behind the deadline serves nobody first. Nil for no deadline. Waits for
    /// nobody.
    func close(at deadline: Duration?) {
        self.deadline.store(deadline?.nanoseconds ?? .max, ordering: .sequentiallyConsistent)
    }

    /// How long after the deadline reads are served on a mount that has to: enough for who was in the middle of one,
    /// and nothing for a machine that was asleep.
    private static let readsEnd: Int64 = 1_000_000_000

    private var lateness: Lateness {
        let deadline = deadline.load(ordering: .sequentiallyConsistent)
        guard deadline != .max else { return .none }
        let passed = BootClock.now.nanoseconds - deadline
        return passed < 0 ? .none : passed < Self.readsEnd ? .due : .overdue
    }

    /// Returns when all handlers that are inside the gate of a class have replied.
    func drain(_ protectionClass: ProtectionClass) {
        gate(protectionClass).lock.withExclusive {}
    }

    /// Enters the gate of a class; false when it does not let this access in. True must be followed by `leave`.
    func admit(_ protectionClass: ProtectionClass, for access: Access) -> Bool {
        let gate = gate(protectionClass)
        // Who will not be let in is told so at once: a waiting drain stands before new readers, and waits itself for
        // what may be stuck on a slow disk.
        guard gate.admits(access, lateness) else { return false }
        gate.lock.lockShared()
        // Again: that may have taken as long as a disk does.
        if gate.admits(access, lateness) { return true }
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
    let lock = ReadWriteLock()
    let protectionClass: ProtectionClass
    /// Whoever has made it stricter then holds the exclusive lock for an instant: who was let in before is out then,
    /// and who comes after sees it.
    let state: Atomic<ClassGates.State>
    let servesReads: Bool

    init(_ protectionClass: ProtectionClass, _ state: ClassGates.State, servesReads: Bool) {
        self.protectionClass = protectionClass
        self.servesReads = servesReads
        self.state = Atomic(state)
    }

    func admits(_ access: Access, _ lateness: Lateness) -> Bool {
        var state = state.load(ordering: .sequentiallyConsistent)
        if lateness != .none, state == .open, protectionClass.isStrict { state = .evicting }
        return switch (state, protectionClass, access) {
        case (.open, _, _): true
        case (_, .completeUnlessOpen, .open): false
        case (_, .completeUnlessOpen, _): true
        case (.evicting, .complete, .page): true
        case (.evicting, .complete, .read): servesReads && lateness != .overdue
        case (.evicting, _, _), (.closed, _, _): false
        }
    }
}

extension Duration {
    /// Whole ones; 292 years of them fit.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

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
        /// Only dirty pages are taken still (and what class B allows through handles).
        case evicting
        /// The class key is away.
        case closed
    }

    private let gates: [Gate]

    init(canOpen: (ProtectionClass) -> Bool) {
        gates = ProtectionClass.allCases.map { Gate($0, canOpen($0) ? .open : .closed) }
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

    /// Returns when all handlers that are inside the gate of a class have replied.
    func drain(_ protectionClass: ProtectionClass) {
        gate(protectionClass).lock.withExclusive {}
    }

    /// Enters the gate of a class; false when it does not let this access in. True must be followed by `leave`.
    func enter(_ protectionClass: ProtectionClass, for access: Access) -> Bool {
        let gate = gate(protectionClass)
        // Who will not be let in is told so at once: a waiting drain stands before new readers, and waits itself for
        // what may be stuck on a slow disk.
        guard gate.admits(access) else { return false }
        gate.lock.lockShared()
        if gate.admits(access) { return true }
        gate.lock.unlockShared()
        return false
    }

    func leave(_ protectionClass: ProtectionClass) {
        gate(protectionClass).lock.unlockShared()
    }
}

private final class Gate: Sendable {
    let lock = ReadWriteLock()
    let protectionClass: ProtectionClass
    /// Whoever has made it stricter then holds the exclusive lock for an instant: who was let in before is out then, and who
    /// comes after sees it.
    let state: Atomic<ClassGates.State>

    init(_ protectionClass: ProtectionClass, _ state: ClassGates.State) {
        self.protectionClass = protectionClass
        self.state = Atomic(state)
    }

    func admits(_ access: Access) -> Bool {
        switch (state.load(ordering: .sequentiallyConsistent), protectionClass, access) {
        case (.open, _, _): true
        case (_, .completeUnlessOpen, .create), (_, .completeUnlessOpen, .use), (_, .completeUnlessOpen, .page): true
        case (.evicting, .complete, .page): true
        case (.evicting, _, _), (.closed, _, _): false
        }
    }
}

/// A machine, by the first 8 bytes of its tag.
public struct MachineNumber: Hashable, Comparable, Sendable {
    public let number: UInt64

    public init(_ number: UInt64) { self.number = number }

    public static func < (one: MachineNumber, other: MachineNumber) -> Bool { one.number < other.number }
}

/// What all machines know of one of them.
public struct MemberRecord: Hashable, Sendable {
    public enum State: UInt8, Sendable {
        /// It works with the vault, and its journal may hold what no file has.
        case active = 1
        /// Another machine recovers what it has left.
        case recovering = 2
        /// All is in place.
        case left = 3
    }

    public let machine: MachineNumber
    /// Rises each time that the machine begins, and each time that another one takes over.
    public let epoch: UInt64
    public let state: State
    /// Which machine has written it. Two that recover a third one, because the store has lost one of them, may have
    /// found the same epoch.
    public let writer: MachineNumber
    /// How long it may work without a look at its record.
    public let lease: Duration

    public init(
        machine: MachineNumber, epoch: UInt64, state: State, writer: MachineNumber, lease: Duration
    ) {
        self.machine = machine
        self.epoch = epoch
        self.state = state
        self.writer = writer
        self.lease = lease
    }
}

import Format
import Glibc
public import Posix
public import Store

/// The right to begin to work with a shared vault, or to end, while the object exists: one process at a time.
public final class SharedTurn: Sendable {
    private let store: any Store
    private let file: Descriptor
    private let patience: Duration
    private let pause: @Sendable (Duration) -> Bool

    private static let interval = Duration.milliseconds(50)

    /// - Parameters:
    ///   - patience: another process may be bringing into place what a machine has left that is gone.
    ///   - pause: waits so long; false to give up.
    /// - Throws: ETIMEDOUT if another process does not end its turn, ECANCELED if `pause` says so; the error of a store
    ///   without locks of bytes.
    public init(
        in store: any Store, patience: Duration, pause: @escaping @Sendable (Duration) -> Bool = SharedTurn.wait
    ) throws(Errno) {
        self.store = store
        self.patience = patience
        self.pause = pause
        file = try LeaseFile.open(in: store)
        try take()
    }

    private func take() throws(Errno) {
        let end = MonotonicClock.now + patience
        while !(try store.lock(LeaseFile.turn, .exclusive, of: file)) {
            guard MonotonicClock.now < end else { throw .ETIMEDOUT }
            guard pause(Self.interval) else { throw .ECANCELED }
        }
    }

    /// Leaves the turn to others as long as a condition holds, for this time at most, and takes it again.
    ///
    /// - Throws: as `init`, and the errors of the condition.
    public func leave(atMost time: Duration, while condition: () throws(Errno) -> Bool) throws(Errno) {
        guard try condition() else { return }
        _ = try store.lock(LeaseFile.turn, nil, of: file)
        let end = MonotonicClock.now + time
        while MonotonicClock.now < end, try condition() {
            guard pause(Self.interval) else { throw .ECANCELED }
        }
        try take()
    }

    deinit { _ = try? store.lock(LeaseFile.turn, nil, of: file) }

    @Sendable public static func wait(_ time: Duration) -> Bool {
        usleep(UInt32(clamping: Int(time / .microseconds(1))))
        return true
    }
}

import Format
import Glibc
public import Posix
public import Store

/// The right to begin to work with a shared vault, or to end, while the object exists: one process at a time.
public final class SharedTurn: Sendable {
    private let store: any Store
    private let file: Descriptor

    private static let pause = Duration.milliseconds(50)

    /// - Parameters:
    ///   - patience: another process may be bringing into place what a machine has left that is gone.
    ///   - pause: waits so long; false to give up.
    /// - Throws: ETIMEDOUT if another process does not end its turn, ECANCELED if `pause` says so; the error of a store
    ///   without locks of bytes.
    public init(
        in store: any Store, patience: Duration, pause: (Duration) -> Bool = SharedTurn.wait
    ) throws(Errno) {
        self.store = store
        file = try LeaseFile.open(in: store)
        let end = MonotonicClock.now + patience
        while true {
            if try store.lock(LeaseFile.turn, .exclusive, of: file) { return }
            guard MonotonicClock.now < end else { throw .ETIMEDOUT }
            guard pause(Self.pause) else { throw .ECANCELED }
        }
    }

    deinit { _ = try? store.lock(LeaseFile.turn, nil, of: file) }

    public static func wait(_ time: Duration) -> Bool {
        usleep(UInt32(clamping: Int(time / .microseconds(1))))
        return true
    }
}

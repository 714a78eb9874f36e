import Glibc
import Posix
import Synchronization

/// Wakes one thread that waits in poll(2), once until it has looked. Thread-safe.
final class Bell: Sendable {
    private let pipe: Pipe
    private let isRung = Atomic(false)

    init() throws(Errno) { pipe = try Pipe() }

    /// Readable while it is rung.
    var descriptor: Descriptor { pipe.readEnd }

    func ring() {
        guard !isRung.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var byte: UInt8 = 0
        // One byte at a time: there is always room.
        _ = unsafe write(pipe.writeEnd.number, &byte, 1)
    }

    /// What is rung for from now on rings again. For the one who waits, and only where it is readable.
    func silence() {
        var byte: UInt8 = 0
        _ = unsafe read(pipe.readEnd.number, &byte, 1)
        isRung.store(false, ordering: .releasing)
    }
}

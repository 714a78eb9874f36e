import CLinux
import Glibc
import Posix

/// Something that one thread waits for with poll(2) and any thread makes happen.
final class Wakeup: Sendable {
    /// Readable once `signal` was called, until `clear`.
    let readable: Descriptor
    private let writable: Descriptor

    init() throws(ControlError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe lk_pipe(&ends) == 0 else { throw .io(.current, doing: "make a pipe") }
        readable = Descriptor(owning: ends[0])
        writable = Descriptor(owning: ends[1])
        do {
            try readable.setNonblocking(true)
            try writable.setNonblocking(true)
        } catch {
            throw .io(error, doing: "make a pipe")
        }
    }

    func signal() {
        // A full pipe is readable all the same.
        var byte: UInt8 = 1
        unsafe write(writable.number, &byte, 1)
    }

    func clear() {
        var bytes = [UInt8](repeating: 0, count: 256)
        while unsafe read(readable.number, &bytes, bytes.count) > 0 {}
    }
}

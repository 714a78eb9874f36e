import Glibc
import Posix

/// Something that one thread waits for with poll(2) and any thread makes happen.
final class Wakeup: Sendable {
    /// Readable once `signal` was called, until `clear`.
    let readable: Descriptor
    private let writable: Descriptor

    init() throws(ControlError) {
        do {
            let pipe = try Pipe()
            readable = pipe.readEnd
            writable = pipe.writeEnd
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

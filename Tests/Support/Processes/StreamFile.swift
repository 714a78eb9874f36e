import Foundation
import Glibc

/// A file without a name for a child's standard streams: it never blocks the child, and keeps what a killed child
/// wrote.
public final class StreamFile {
    public let descriptor: Int32

    public init(holding bytes: [UInt8] = []) throws {
        var template = Array("\(Environment.temporary)/latchkey-stream.XXXXXX".utf8CString)
        descriptor = unsafe mkstemp(&template)
        guard descriptor >= 0 else { throw HarnessError("mkstemp: errno \(errno)") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unsafe unlink(template)
        guard unsafe bytes.withUnsafeBytes({ unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }) == bytes.count
        else { throw HarnessError("cannot write a child's input") }
    }

    deinit {
        close(descriptor)
    }

    public var contents: [UInt8] {
        let size = Int(lseek(descriptor, 0, SEEK_END))
        return unsafe [UInt8](unsafeUninitializedCapacity: max(size, 1)) { buffer, count in
            unsafe count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
        }
    }
}

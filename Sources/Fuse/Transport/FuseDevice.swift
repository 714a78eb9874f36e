import CFuse
import Glibc
import Posix

/// The open /dev/fuse of one mount. Thread-safe.
///
/// Source: linux/fuse.h; fuse_dev_do_read and fuse_dev_do_write in fs/fuse/dev.c.
@safe
final class FuseDevice: Sendable {
    private let file: Descriptor

    init(_ file: Descriptor) { self.file = file }

    var number: Int32 { file.number }

    /// Receives one message, and waits for it. Returns 0 if the mount or the connection has ended.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        while true {
            let count = unsafe read(file.number, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            switch Errno.current {
            // ENOENT: the caller of the request was interrupted before it was received.
            case .EINTR, .EAGAIN, .ENOENT: continue
            case .ENODEV: return 0
            case let error: throw error
            }
        }
    }

    /// Sends the answer to a request; false if the kernel did not take it.
    func send(unique: UInt64, _ error: Errno?, _ bytes: UnsafeRawBufferPointer) -> Bool {
        let header = fuse_out_header(
            len: UInt32(MemoryLayout<fuse_out_header>.size + bytes.count), error: -(error?.rawValue ?? 0),
            unique: unique)
        return unsafe send(header, bytes)
    }

    /// Sends a notification, whose code stands in the place of an error; returns when the kernel has done it.
    func notify(_ code: Int32, _ bytes: [UInt8]) throws(Errno) {
        let header = fuse_out_header(
            len: UInt32(MemoryLayout<fuse_out_header>.size + bytes.count), error: code, unique: 0)
        let isTaken = unsafe bytes.withUnsafeBytes { bytes in unsafe send(header, bytes) }
        if !isTaken { throw .current }
    }

    /// Has the kernel put a request into the queue of the processor that this thread runs on: an empty answer to a
    /// question for cached contents of a file.
    ///
    /// - Parameters:
    ///   - number: of this question, even, and unlike those of the kernel's requests.
    ///   - file: a regular file that the kernel knows.
    func raiseRequest(_ number: UInt64, for file: UInt64) throws(Errno) {
        let question = fuse_notify_retrieve_out(notify_unique: number, nodeid: file, offset: 0, size: 0, padding: 0)
        try notify(
            Int32(FUSE_NOTIFY_RETRIEVE.rawValue), unsafe withUnsafeBytes(of: question) { unsafe Array($0) })
    }

    private func send(_ header: fuse_out_header, _ bytes: UnsafeRawBufferPointer) -> Bool {
        var header = header
        return unsafe withUnsafeMutableBytes(of: &header) { header in
            unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
                unsafe parts.initializeElement(
                    at: 0, to: iovec(iov_base: header.baseAddress, iov_len: header.count))
                unsafe parts.initializeElement(
                    at: 1,
                    to: iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
                return unsafe writev(file.number, parts.baseAddress, bytes.isEmpty ? 1 : 2) >= 0
            }
        }
    }
}

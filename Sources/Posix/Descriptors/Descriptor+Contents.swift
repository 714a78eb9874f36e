import CLinux
import Glibc

extension Descriptor {
    /// Reads at an offset, until the buffer is full or the file ends; the bytes that were read, 0 to the buffer's size.
    ///
    /// Source: pread(2).
    public func read(into buffer: inout MutableRawSpan, at offset: Int64) throws(Errno) -> Int {
        try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
            var count = 0
            while count < bytes.count {
                let got = try call {
                    unsafe pread(number, bytes.baseAddress! + count, bytes.count - count, Int(offset) + count)
                }
                if got == 0 { break }
                count += got
            }
            return count
        }
    }

    /// Writes all bytes at an offset. When it throws, any part of them may have been written.
    ///
    /// Source: pwrite(2).
    public func write(_ bytes: RawSpan, at offset: Int64) throws(Errno) {
        try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
            var count = 0
            while count < bytes.count {
                count += try call {
                    unsafe pwrite(number, bytes.baseAddress! + count, bytes.count - count, Int(offset) + count)
                }
            }
        }
    }

    /// The first offset at or after `offset` at which the file has data, not a hole; nil when there is none.
    ///
    /// Moves the open file's own offset. A file system that knows no holes has data everywhere.
    ///
    /// Source: lseek(2), SEEK_DATA.
    public func nextData(from offset: Int64) throws(Errno) -> Int64? {
        do throws(Errno) {
            return Int64(try call { lseek(number, Int(offset), SEEK_DATA) })
        } catch .ENXIO {
            return nil
        }
    }

    /// The first offset at or after `offset` at which the file has a hole, at its end at the latest; nil behind that.
    ///
    /// Moves the open file's own offset. A file system that knows no holes has one at the end.
    ///
    /// Source: lseek(2), SEEK_HOLE.
    public func nextHole(from offset: Int64) throws(Errno) -> Int64? {
        do throws(Errno) {
            return Int64(try call { lseek(number, Int(offset), SEEK_HOLE) })
        } catch .ENXIO {
            return nil
        }
    }

    /// Reads once, from a pipe, a socket or the file's own offset: what there is, at most the buffer's size. 0 is the end.
    ///
    /// Source: read(2).
    public func read(into buffer: inout MutableRawSpan) throws(Errno) -> Int {
        try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
            try call { unsafe Glibc.read(number, bytes.baseAddress, bytes.count) }
        }
    }

    /// Writes all bytes to a pipe, a socket or at the file's own offset.
    ///
    /// Source: write(2).
    public func write(_ bytes: RawSpan) throws(Errno) {
        try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
            var count = 0
            while count < bytes.count {
                count += try call { unsafe Glibc.write(number, bytes.baseAddress! + count, bytes.count - count) }
            }
        }
    }

    /// Source: ftruncate(2).
    public func truncate(to size: Int64) throws(Errno) {
        try perform { ftruncate(number, Int(size)) }
    }

    /// Allocates, punches or zeroes a range, as `mode` (FALLOC_FL_*) says; 0 allocates and extends.
    ///
    /// Source: fallocate(2).
    public func allocate(mode: Int32, offset: Int64, length: Int64) throws(Errno) {
        try perform { lk_fallocate(number, mode, offset, length) }
    }

    /// Returns when the contents, and with `dataOnly` only the metadata that reading them back needs, are durable.
    ///
    /// After an error the kernel may have dropped what it could not write: repeating the call proves nothing.
    ///
    /// Source: fsync(2).
    public func synchronize(dataOnly: Bool) throws(Errno) {
        try perform { dataOnly ? fdatasync(number) : fsync(number) }
    }

    /// Returns when everything in the file system that holds this file is durable.
    ///
    /// Source: syncfs(2).
    public func synchronizeFileSystem() throws(Errno) {
        try perform { lk_syncfs(number) }
    }

    /// Takes the file's advisory lock, held until the last duplicate is closed; EWOULDBLOCK if another has it.
    ///
    /// Source: flock(2), LOCK_EX | LOCK_NB.
    public func lockExclusively() throws(Errno) {
        try perform { lk_flock_exclusive(number) }
    }

    /// The same, and waits for whoever has it.
    ///
    /// Source: flock(2), LOCK_EX.
    public func waitForLock() throws(Errno) {
        try perform { lk_flock_wait(number) }
    }
}

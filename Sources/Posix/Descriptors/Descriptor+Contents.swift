import CLinux
import Glibc

extension Descriptor {
    /// Reads at an offset until the buffer is full or the file ends; returns the number of bytes, 0 to the buffer's
    /// size.
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

    /// Writes all bytes at an offset. If it throws, any part of them may have been written.
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

    /// The first offset at or after `offset` with data, not a hole; nil if there is none.
    ///
    /// Moves the file offset. A file system without holes reports data everywhere.
    ///
    /// Source: lseek(2), SEEK_DATA.
    public func nextData(from offset: Int64) throws(Errno) -> Int64? {
        do throws(Errno) {
            return Int64(try call { lseek(number, Int(offset), SEEK_DATA) })
        } catch .ENXIO {
            return nil
        }
    }

    /// The first offset at or after `offset` in a hole, at the latest the end of the file; nil beyond the end.
    ///
    /// Moves the file offset. A file system without holes reports one at the end.
    ///
    /// Source: lseek(2), SEEK_HOLE.
    public func nextHole(from offset: Int64) throws(Errno) -> Int64? {
        do throws(Errno) {
            return Int64(try call { lseek(number, Int(offset), SEEK_HOLE) })
        } catch .ENXIO {
            return nil
        }
    }

    /// Reads once, from a pipe, a socket or at the file offset: the available bytes, at most the buffer's size. 0 is
    /// the end.
    ///
    /// Source: read(2).
    public func read(into buffer: inout MutableRawSpan) throws(Errno) -> Int {
        try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
            try call { unsafe Glibc.read(number, bytes.baseAddress, bytes.count) }
        }
    }

    /// Writes all bytes to a pipe, a socket or at the file offset.
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

    /// Returns when the contents are durable; with `dataOnly`, only the metadata needed to read them back is included.
    ///
    /// After an error the kernel may have dropped what it could not write, so a repeated call that succeeds proves
    /// nothing.
    ///
    /// Source: fsync(2).
    public func synchronize(dataOnly: Bool) throws(Errno) {
        try perform { dataOnly ? fdatasync(number) : fsync(number) }
    }

    /// Returns when everything in this file's file system is durable.
    ///
    /// Source: syncfs(2).
    public func synchronizeFileSystem() throws(Errno) {
        try perform { lk_syncfs(number) }
    }

    /// Takes the file's advisory lock, held until the last duplicate is closed; EWOULDBLOCK if another open file holds
    /// it.
    ///
    /// Source: flock(2), LOCK_EX | LOCK_NB.
    public func lockExclusively() throws(Errno) {
        try perform { lk_flock_exclusive(number) }
    }

    /// As `lockExclusively`, but waits for the holder.
    ///
    /// Source: flock(2), LOCK_EX.
    public func waitForLock() throws(Errno) {
        try perform { lk_flock_wait(number) }
    }

    /// Locks the whole file for this open file, which must be open for writing; EAGAIN if another one has locked it.
    ///
    /// Source: fcntl(2), F_OFD_SETLK.
    public func lockDescription() throws(Errno) {
        try perform { lk_lock_description(number) }
    }

    /// Whether another open file has that lock.
    ///
    /// Source: fcntl(2), F_OFD_GETLK.
    public func isDescriptionLocked() throws(Errno) -> Bool {
        try call { lk_is_description_locked(number) } == 1
    }
}

import CLinux
import Crypto
import Glibc
import Posix

extension Secret {
    /// The reading end of a pipe that holds the secret, its writing end closed: how it goes to another process.
    ///
    /// A pipe rather than a file in memory: its pages cannot be swapped out, and are gone when they have been read.
    borrowing func pipe() throws(CommandError) -> Descriptor {
        var ends: [Int32] = [-1, -1]
        guard unsafe lk_pipe(&ends) == 0 else {
            throw CommandError(.failed, "cannot make a pipe for the passcode: \(Errno.current)")
        }
        let reading = Descriptor(owning: ends[0])
        let writing = Descriptor(owning: ends[1])
        // At most 1,024 bytes, which any pipe takes at once.
        let written = withBytes { bytes in
            unsafe bytes.withUnsafeBytes { unsafe Glibc.write(writing.number, $0.baseAddress, $0.count) }
        }
        guard written == count else {
            throw CommandError(.failed, "cannot hand the passcode over: \(Errno.current)")
        }
        return reading
    }
}

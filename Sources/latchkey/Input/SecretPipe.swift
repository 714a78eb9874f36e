import Crypto
import Posix

extension Secret {
    /// The reading end of a pipe that holds the secret, its writing end closed: how it goes to another process.
    ///
    /// A pipe rather than a file in memory: its pages cannot be swapped out, and are gone when they have been read.
    borrowing func pipe() throws(CommandError) -> Descriptor {
        do {
            let pipe = try Pipe()
            // At most 1,024 bytes, which any pipe takes at once.
            try withBytes { bytes throws(Errno) in try pipe.writeEnd.write(bytes) }
            return pipe.readEnd
        } catch {
            throw CommandError(.failed, "cannot hand the secret over: \(error)")
        }
    }
}

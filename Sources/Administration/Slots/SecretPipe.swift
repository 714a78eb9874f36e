public import Crypto
public import Failure
public import Posix

extension Secret {
    /// The reading end of a pipe that holds the secret, its writing end closed: how it goes to another process.
    ///
    /// A pipe rather than a file in memory: its pages cannot be swapped out, and are gone when they have been read.
    public borrowing func pipe() throws(Failure) -> Descriptor {
        do {
            let pipe = try Pipe()
            // At most 1,024 bytes, which any pipe takes at once.
            try withBytes { bytes throws(Errno) in try pipe.writeEnd.write(bytes) }
            return pipe.readEnd
        } catch {
            throw .io(error, doing: "cannot hand the secret over")
        }
    }
}

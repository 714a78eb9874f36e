public import Crypto
public import Failure
public import Posix

extension Secret {
    /// The reading end of a pipe with the secret, its writing end closed: the way to pass it to another process.
    ///
    /// A pipe and not a file in memory: its pages cannot be swapped out, and are freed when they have been read.
    public borrowing func pipe() throws(Failure) -> Descriptor {
        do {
            let pipe = try Pipe()
            // At most 1,024 bytes, which any pipe can hold.
            try withBytes { bytes throws(Errno) in try pipe.writeEnd.write(bytes) }
            return pipe.readEnd
        } catch {
            throw .io(error, doing: "cannot hand the secret over")
        }
    }
}

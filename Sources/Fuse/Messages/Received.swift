import CFuse
import Posix

/// A request as the kernel has sent it. Valid until its handler returns.
///
/// On /dev/fuse, the header, the fixed part and the arguments follow each other; a ring has each in memory of its own.
///
/// Source: linux/fuse.h, struct fuse_in_header and the struct of each request.
@safe
struct Received {
    let header: fuse_in_header
    private let fixed: UnsafeRawBufferPointer
    /// Of a ring; nil if all follows the header.
    private let rest: UnsafeRawBufferPointer?

    static let headerByteCount = MemoryLayout<fuse_in_header>.size

    /// From /dev/fuse; nil if it is too short.
    init?(message: UnsafeRawBufferPointer) {
        guard message.count >= Self.headerByteCount else { return nil }
        header = unsafe message.loadUnaligned(as: fuse_in_header.self)
        unsafe fixed = UnsafeRawBufferPointer(rebasing: message[Self.headerByteCount...])
        unsafe rest = nil
    }

    /// From a ring.
    init(header: fuse_in_header, fixed: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer) {
        self.header = header
        unsafe self.fixed = fixed
        unsafe rest = payload
    }

    /// Nil for a request that is not served.
    var opcode: Opcode? { Opcode(rawValue: header.opcode) }

    var node: NodeID { NodeID(rawValue: header.nodeid) }

    /// The arguments of a request without a fixed part.
    var arguments: Arguments { unsafe Arguments(bytes: rest ?? fixed) }

    /// The fixed part, and the arguments behind it. Throws EIO if the message is too short, which no kernel sends.
    func parts<Fixed: BitwiseCopyable>(_ type: Fixed.Type = Fixed.self) throws(Errno) -> (Fixed, Arguments) {
        let size = MemoryLayout<Fixed>.size
        guard unsafe fixed.count >= size else { throw .EIO }
        let value = unsafe fixed.loadUnaligned(as: Fixed.self)
        return (value, unsafe Arguments(bytes: rest ?? UnsafeRawBufferPointer(rebasing: fixed[size...])))
    }

    func fixed<Fixed: BitwiseCopyable>(_ type: Fixed.Type = Fixed.self) throws(Errno) -> Fixed { try parts().0 }

    /// The fixed part of a request whose structure has grown: at least so many bytes, and zeros for what is missing.
    func fixed<Fixed: BitwiseCopyable>(atLeast least: Int, of zeros: Fixed) throws(Errno) -> Fixed {
        guard unsafe fixed.count >= least else { throw .EIO }
        var value = zeros
        unsafe withUnsafeMutableBytes(of: &value) { bytes in
            unsafe bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: fixed[..<min(fixed.count, bytes.count)]))
        }
        return value
    }
}

/// What follows the fixed part of a request: strings, each ended by NUL, and bytes.
@safe
struct Arguments {
    private(set) var bytes: UnsafeRawBufferPointer

    init(bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

    /// Takes the next string. Throws EIO if there is none.
    mutating func string() throws(Errno) -> UnsafeRawBufferPointer {
        guard let end = unsafe bytes.firstIndex(of: 0) else { throw .EIO }
        let string = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<end])
        unsafe bytes = UnsafeRawBufferPointer(rebasing: bytes[(end + 1)...])
        return unsafe string
    }

    /// Takes the next string as a name. Throws ENAMETOOLONG for more than 255 bytes, which the kernel passes but no
    /// file system of ours can store.
    mutating func name() throws(Errno) -> Name {
        guard let name = unsafe Name(bytes: try string()) else { throw .ENAMETOOLONG }
        return name
    }
}

import CFuse
import Glibc

// Requests that libfuse 3.14 does not know reach it in the form of others that it does, whose bodies are the same. What
// it calls then tells them apart by the opcode that the worker has kept.

extension Session {
    /// What came from the kernel, as libfuse is to see it.
    ///
    /// Source: linux/fuse.h; struct fuse_in_header and what follows it in each request.
    func translate(_ buffer: inout fuse_buf, _ worker: inout lk_fuse_worker) {
        guard let bytes = unsafe buffer.mem, unsafe buffer.size >= MemoryLayout<fuse_in_header>.size else { return }
        var header = unsafe bytes.loadUnaligned(as: fuse_in_header.self)
        unsafe worker.opcode = header.opcode
        switch header.opcode {
        case FUSE_TMPFILE.rawValue: header.opcode = FUSE_CREATE.rawValue
        case UInt32(LK_FUSE_STATX): header.opcode = FUSE_GETATTR.rawValue
        case FUSE_SETXATTR.rawValue where isAttributeExtended:
            // Eight bytes more, between the fields that libfuse knows and the name.
            let start = MemoryLayout<fuse_in_header>.size + Self.attributeFields
            guard unsafe buffer.size >= start + Self.moreAttributeFields else { return }
            unsafe worker.attribute_flags = bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self)
            unsafe memmove(
                bytes + start, bytes + start + Self.moreAttributeFields,
                buffer.size - start - Self.moreAttributeFields)
            unsafe buffer.size -= Self.moreAttributeFields
            header.len -= UInt32(Self.moreAttributeFields)
        default: return
        }
        unsafe bytes.storeBytes(of: header, as: fuse_in_header.self)
    }

    /// The size and flags that begin the body of a setxattr, in bytes.
    private static let attributeFields = 8
    /// setxattr_flags and padding.
    private static let moreAttributeFields = 8

    /// The opcode of the request that this worker is at, as the kernel sent it.
    static var currentOpcode: UInt32 { unsafe lk_fuse_current_worker()?.pointee.opcode ?? 0 }
}

import CFuse
import Glibc

// libfuse 3.14 does not know some requests. They are passed to it as other requests with the same body; the callbacks
// then distinguish them by the opcode that the worker has kept.

extension Session {
    /// Rewrites a request of the kernel into one that libfuse knows.
    ///
    /// Source: linux/fuse.h; struct fuse_in_header and what follows it in each request.
    func translate(_ buffer: inout fuse_buf, _ worker: inout lk_fuse_worker) {
        guard let bytes = unsafe buffer.mem, unsafe buffer.size >= MemoryLayout<fuse_in_header>.size else { return }
        var header = unsafe bytes.loadUnaligned(as: fuse_in_header.self)
        unsafe worker.opcode = header.opcode
        unsafe worker.name = 0
        switch header.opcode {
        case FUSE_LOOKUP.rawValue where stale.isAsked:
            var hasher = Hasher()
            hasher.combine(header.nodeid)
            let size = MemoryLayout<fuse_in_header>.size
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer(start: bytes + size, count: buffer.size - size))
            unsafe worker.name = hasher.finalize()
            return
        case FUSE_TMPFILE.rawValue: header.opcode = FUSE_CREATE.rawValue
        case UInt32(LK_FUSE_STATX): header.opcode = FUSE_GETATTR.rawValue
        case FUSE_SETXATTR.rawValue where isAttributeExtended:
            // Eight more bytes, between the fields that libfuse knows and the name.
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

    /// The size and flags at the start of a setxattr body, in bytes.
    private static let attributeFields = 8
    /// setxattr_flags and padding.
    private static let moreAttributeFields = 8

    /// The opcode of the request that this worker handles, as the kernel sent it.
    static var currentOpcode: UInt32 { unsafe lk_fuse_current_worker()?.pointee.opcode ?? 0 }

    /// What the LOOKUP that this worker handles asks for, as a hash.
    static var currentName: Int { unsafe lk_fuse_current_worker()?.pointee.name ?? 0 }
}

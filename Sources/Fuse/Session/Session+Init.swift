import CFuse
import Glibc
import Posix

extension Session {
    /// Chooses among the kernel's features; FUSE_INIT is answered when this returns.
    func negotiate(_ connection: UnsafeMutablePointer<fuse_conn_info>) {
        let offered = unsafe connection.pointee.capable
        var wanted = UInt32(FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC)
        // Export: nodes can be found again by file handles.
        wanted |= UInt32(FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_EXPORT_SUPPORT)
        switch configuration.cachedContents {
        // Not AUTO_INVAL_DATA, libfuse's default: it drops a file's pages whenever our own write has changed its mtime.
        case .kept: wanted |= UInt32(FUSE_CAP_EXPLICIT_INVAL_DATA)
        case .checkedBeforeReads: wanted |= UInt32(FUSE_CAP_AUTO_INVAL_DATA)
        }
        switch configuration.directoryEntries {
        case .plain: break
        case .withAttributes: wanted |= UInt32(FUSE_CAP_READDIRPLUS)
        case .adaptive: wanted |= UInt32(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO)
        }
        if configuration.accessControlLists == .enforcedByKernel {
            wanted |= UInt32(FUSE_CAP_POSIX_ACL | FUSE_CAP_DONT_MASK)
        }
        // Deliberately not used. WRITEBACK_CACHE: a write(2) could end in the page cache after a lock. SPLICE_READ,
        // SPLICE_WRITE, SPLICE_MOVE: contents would stay in pipes, where they cannot be wiped. POSIX_LOCKS,
        // FLOCK_LOCKS: the kernel implements locks by itself. ASYNC_DIO: the kernel drops the pages under an
        // asynchronous direct write before it sends the write, but not after the answer (generic_file_direct_write in
        // mm/filemap.c), so a reader in between would leave old bytes in the page cache.
        unsafe connection.pointee.want = wanted & offered

        unsafe connection.pointee.max_write = min(connection.pointee.max_write, UInt32(configuration.maxWrite))
        unsafe connection.pointee.max_readahead = min(
            connection.pointee.max_readahead, UInt32(configuration.maxReadahead))
        unsafe connection.pointee.max_background = UInt32(configuration.maxBackground)
        unsafe connection.pointee.congestion_threshold = UInt32(configuration.maxBackground * 3 / 4)

        let extra = extraFlags(offered)
        lk_fuse_add_init_flags(extra)
        withState { $0.isInitialized = true }
        fileSystem.initialized(
            Connection(
                major: unsafe connection.pointee.proto_major, minor: unsafe connection.pointee.proto_minor,
                maxWrite: unsafe Int(connection.pointee.max_write),
                maxReadahead: unsafe Int(connection.pointee.max_readahead),
                invalidatesExplicitly: wanted & offered & UInt32(FUSE_CAP_EXPLICIT_INVAL_DATA) != 0,
                fileSystemClearsPrivileges: extra & UInt64(FUSE_HANDLE_KILLPRIV_V2) != 0))
    }

    /// The kernel limits the readahead of a FUSE mount to 128 KiB, whatever FUSE_INIT says. Only root can raise that,
    /// and only after the answer to FUSE_INIT. For other users reads are smaller, nothing else changes.
    func raiseReadahead() {
        guard let point = withState({ $0.point }) else { return }
        let file = "/sys/class/bdi/0:\(point.connection)/read_ahead_kb"
        guard let stream = unsafe fopen(file, "we") else { return }
        unsafe fputs("\(configuration.maxReadahead >> 10)", stream)
        unsafe fclose(stream)
    }

    /// Flags that libfuse 3.14 does not send.
    ///
    /// It accepts PARALLEL_DIROPS as a capability but drops it. It also drops HANDLE_KILLPRIV, which does no harm: the
    /// kernel then clears set-ID bits itself. It does not know HANDLE_KILLPRIV_V2, and only that one saves the request
    /// for security.capability before every write. Nor does it know SETXATTR_EXT, without which the kernel does not say
    /// whether a new access control list clears the set-group-ID bit.
    private func extraFlags(_ offered: UInt32) -> UInt64 {
        var flags: UInt64 = 0
        if offered & UInt32(FUSE_CAP_PARALLEL_DIROPS) != 0 { flags |= UInt64(FUSE_PARALLEL_DIROPS) }
        if configuration.privileges == .clearedByFileSystem,
            let offer: fuse_init_in = ReceivedBody.current(),
            offer.flags & UInt32(FUSE_HANDLE_KILLPRIV_V2) != 0
        {
            flags |= UInt64(FUSE_HANDLE_KILLPRIV_V2)
        }
        if configuration.accessControlLists == .enforcedByKernel, let offer: fuse_init_in = ReceivedBody.current(),
            offer.flags & UInt32(FUSE_SETXATTR_EXT) != 0
        {
            flags |= UInt64(FUSE_SETXATTR_EXT)
            hasExtendedAttributes.store(true, ordering: .relaxed)
        }
        return flags
    }
}

/// The request that this worker handles, as the kernel sent it: for fields that libfuse 3.14 does not pass on.
enum ReceivedBody {
    static func isInit(_ worker: lk_fuse_worker) -> Bool {
        unsafe worker.bytes!.loadUnaligned(as: fuse_in_header.self).opcode == FUSE_INIT.rawValue
    }

    static func current<Body: BitwiseCopyable>(as type: Body.Type = Body.self) -> Body? {
        let offset = MemoryLayout<fuse_in_header>.size
        guard let worker = unsafe lk_fuse_current_worker(), let bytes = unsafe worker.pointee.bytes,
            unsafe worker.pointee.count >= offset + MemoryLayout<Body>.size
        else { return nil }
        return unsafe bytes.loadUnaligned(fromByteOffset: offset, as: Body.self)
    }
}

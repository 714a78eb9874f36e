import CFuse
import Glibc
import Posix

extension Session {
    /// Chooses among what the kernel offers; FUSE_INIT is answered when this returns.
    func negotiate(_ connection: UnsafeMutablePointer<fuse_conn_info>) {
        let offered = unsafe connection.pointee.capable
        var wanted = UInt32(FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC)
        wanted |= UInt32(FUSE_CAP_PARALLEL_DIROPS)
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
        // Left out on purpose. WRITEBACK_CACHE: a write(2) could end in the page cache after a lock. SPLICE_READ,
        // SPLICE_WRITE, SPLICE_MOVE: contents would wait in pipes, where nobody wipes them. POSIX_LOCKS, FLOCK_LOCKS:
        // the kernel keeps locks by itself. ASYNC_DIO: the kernel drops the pages that an asynchronous direct write
        // covers before it sends the write, but not once it is answered (generic_file_direct_write in mm/filemap.c): a
        // reader in between would leave old bytes in the page cache.
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

    /// The kernel offers a FUSE mount 128 KiB of readahead at most, whatever is asked for. Only root can raise that,
    /// and only once FUSE_INIT is answered. Elsewhere reads are smaller, nothing else.
    func raiseReadahead() {
        guard let point = withState({ $0.point }) else { return }
        let file = "/sys/class/bdi/0:\(point.connection)/read_ahead_kb"
        guard let stream = unsafe fopen(file, "we") else { return }
        unsafe fputs("\(configuration.maxReadahead >> 10)", stream)
        unsafe fclose(stream)
    }

    /// Flags that libfuse 3.14 does not send.
    ///
    /// PARALLEL_DIROPS it takes as a capability and forgets. HANDLE_KILLPRIV likewise, which does no harm: the kernel
    /// then clears set-ID bits itself. Of HANDLE_KILLPRIV_V2 it has not heard: only that one spares the kernel the
    /// question for security.capability before every write. Nor of SETXATTR_EXT: without that nobody says whether the
    /// set-group-ID bit goes with a new access control list.
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

/// The request that this worker is at, as the kernel sent it: for the fields that libfuse 3.14 does not pass on.
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

import CFuse
import Glibc
import Posix

extension Session {
    /// The version of the protocol that this code speaks.
    private static let minor: UInt32 = 45
    /// The oldest that it speaks: from 7.23 on, the answer to FUSE_INIT has its present size. Linux 3.15.
    private static let oldestMinor: UInt32 = 23

    /// Answers FUSE_INIT: chooses among the kernel's features.
    ///
    /// Source: process_init_reply in fs/fuse/inode.c.
    func negotiate(_ received: Received, _ device: FuseDevice) {
        do throws(Errno) {
            // Before 7.36 (Linux 5.17) it ends with `flags`.
            let offer = try received.fixed(atLeast: 16, of: fuse_init_in())
            guard offer.major >= 7, offer.major > 7 || offer.minor >= Self.oldestMinor else { throw .EPROTO }
            let answer = self.answer(to: offer)
            // A newer kernel offers 7 once more.
            if offer.major == 7 { prepare(answer, to: offer) }
            let isTaken = unsafe withUnsafeBytes(of: answer) { bytes in
                unsafe device.send(unique: received.header.unique, nil, bytes)
            }
            guard isTaken, offer.major == 7 else { return }
            raiseReadahead()
            if let rings {
                let isGranted = answer.allFlags & LK_FUSE_OVER_IO_URING != 0
                decide(isGranted ? .ring : .device(.notSupported))
                rings.begin(isGranted)
            }
        } catch {
            _ = unsafe device.send(
                unique: received.header.unique, error, UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    private func answer(to offer: fuse_init_in) -> fuse_init_out {
        var answer = fuse_init_out()
        answer.major = 7
        answer.minor = min(offer.minor, Self.minor)
        guard offer.major == 7 else { return answer }
        let flags = wanted(offer) & offer.allFlags
        answer.flags = UInt32(truncatingIfNeeded: flags)
        answer.flags2 = UInt32(truncatingIfNeeded: flags >> 32)
        answer.max_readahead = min(offer.max_readahead, UInt32(configuration.maxReadahead))
        answer.max_write = UInt32(configuration.maxWrite)
        answer.max_pages = UInt16(clamping: (configuration.maxWrite - 1) / Int(getpagesize()) + 1)
        // Without it, the kernel takes 32 pages.
        if flags & UInt64(FUSE_MAX_PAGES) == 0 { answer.max_write = min(answer.max_write, 32 * UInt32(getpagesize())) }
        answer.max_background = UInt16(clamping: configuration.maxBackground)
        answer.congestion_threshold = UInt16(clamping: configuration.maxBackground * 3 / 4)
        answer.time_gran = 1
        return answer
    }

    private func wanted(_ offer: fuse_init_in) -> UInt64 {
        // Export: nodes can be found again by file handles.
        var wanted =
            UInt64(FUSE_ASYNC_READ) | UInt64(FUSE_ATOMIC_O_TRUNC) | UInt64(FUSE_EXPORT_SUPPORT)
            | UInt64(FUSE_BIG_WRITES) | UInt64(FUSE_PARALLEL_DIROPS) | UInt64(FUSE_MAX_PAGES) | UInt64(FUSE_INIT_EXT)
        switch configuration.cachedContents {
        // Not AUTO_INVAL_DATA: it drops a file's pages whenever our own write has changed its mtime.
        case .kept: wanted |= UInt64(FUSE_EXPLICIT_INVAL_DATA)
        case .checkedBeforeReads: wanted |= UInt64(FUSE_AUTO_INVAL_DATA)
        }
        switch configuration.directoryEntries {
        case .plain: break
        case .withAttributes: wanted |= UInt64(FUSE_DO_READDIRPLUS)
        case .adaptive: wanted |= UInt64(FUSE_DO_READDIRPLUS) | UInt64(FUSE_READDIRPLUS_AUTO)
        }
        // Without SETXATTR_EXT, the kernel does not say whether a new access control list clears the set-group-ID bit.
        if configuration.accessControlLists == .enforcedByKernel {
            wanted |= UInt64(FUSE_POSIX_ACL) | UInt64(FUSE_DONT_MASK) | UInt64(FUSE_SETXATTR_EXT)
        }
        // Only version 2 saves the request for security.capability before every write.
        if configuration.privileges == .clearedByFileSystem { wanted |= UInt64(FUSE_HANDLE_KILLPRIV_V2) }
        if rings != nil { wanted |= LK_FUSE_OVER_IO_URING }
        if configuration.locks == .byFileSystem { wanted |= UInt64(FUSE_POSIX_LOCKS) | UInt64(FUSE_FLOCK_LOCKS) }
        if configuration.mapsDirectIO { wanted |= LK_FUSE_DIRECT_IO_ALLOW_MMAP }
        // Deliberately not used. WRITEBACK_CACHE: a write(2) could end in the page cache after a lock. SPLICE_READ,
        // SPLICE_WRITE, SPLICE_MOVE: contents would stay in pipes, where they cannot be wiped. ASYNC_DIO: the kernel
        // drops the pages under an asynchronous direct write before it sends the write, but not after the answer
        // (generic_file_direct_write in mm/filemap.c), so a reader in between would leave old bytes in the page cache.
        return wanted
    }

    /// Before the answer: other threads may receive requests at once after it.
    private func prepare(_ answer: fuse_init_out, to offer: fuse_init_in) {
        let flags = answer.allFlags
        hasExtendedAttributes.store(flags & UInt64(FUSE_SETXATTR_EXT) != 0, ordering: .relaxed)
        withState { $0.isInitialized = true }
        fileSystem.initialized(
            Connection(
                major: answer.major, minor: offer.minor, maxWrite: Int(answer.max_write),
                maxReadahead: Int(answer.max_readahead),
                invalidatesExplicitly: flags & UInt64(FUSE_EXPLICIT_INVAL_DATA) != 0,
                fileSystemClearsPrivileges: flags & UInt64(FUSE_HANDLE_KILLPRIV_V2) != 0))
    }

    /// The kernel limits the readahead of a FUSE mount to 128 KiB, whatever FUSE_INIT says. Only root can raise that,
    /// and only after the answer to FUSE_INIT. For other users reads are smaller, nothing else changes.
    private func raiseReadahead() {
        guard let point = withState({ $0.point }) else { return }
        let file = "/sys/class/bdi/0:\(point.connection)/read_ahead_kb"
        guard let stream = unsafe fopen(file, "we") else { return }
        unsafe fputs("\(configuration.maxReadahead >> 10)", stream)
        unsafe fclose(stream)
    }
}

extension fuse_init_in {
    /// The upper half counts only with FUSE_INIT_EXT.
    fileprivate var allFlags: UInt64 {
        UInt64(flags) | (flags & UInt32(FUSE_INIT_EXT) != 0 ? UInt64(flags2) << 32 : 0)
    }
}

extension fuse_init_out {
    fileprivate var allFlags: UInt64 { UInt64(flags) | UInt64(flags2) << 32 }
}

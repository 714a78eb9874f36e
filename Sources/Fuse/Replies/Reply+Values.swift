import CFuse
import Posix

extension Reply where Value == Done {
    @discardableResult
    public consuming func succeed() -> Bool {
        unsafe answer { request in unsafe fuse_reply_err(request, 0) }
    }
}

extension Reply where Value == Entry {
    /// Source: fuse_reply_entry.
    public consuming func succeed(_ entry: Entry) -> Bool {
        var parameters = fuse_entry_param(entry)
        return unsafe answer { request in unsafe fuse_reply_entry(request, &parameters) }
    }

    /// Answers that the name does not exist, which the kernel may cache for `timeout` seconds.
    @discardableResult
    public consuming func succeedWithout(timeout: Double) -> Bool {
        var parameters = fuse_entry_param()
        parameters.entry_timeout = timeout
        return unsafe answer { request in unsafe fuse_reply_entry(request, &parameters) }
    }
}

extension Reply where Value == Attributes {
    /// Source: fuse_reply_attr.
    @discardableResult
    public consuming func succeed(_ attributes: Attributes) -> Bool {
        var status = stat(attributes.status)
        return unsafe answer { request in unsafe fuse_reply_attr(request, &status, attributes.timeout) }
    }
}

extension Reply where Value == ExtendedAttributes {
    /// Source: linux/fuse.h, struct fuse_statx_out.
    @discardableResult
    public consuming func succeed(_ attributes: ExtendedAttributes) -> Bool {
        let values = lk_fuse_statx_out(attributes)
        return unsafe answer { request in
            unsafe withUnsafeBytes(of: values) { bytes in unsafe replyBuffer(request, bytes) }
        }
    }
}

extension Reply where Value == Opened {
    /// False: no `release` will come, so the caller must release the handle now.
    ///
    /// Source: fuse_reply_open.
    public consuming func succeed(_ opened: Opened) -> Bool {
        var info = opened.info
        return unsafe answer { request in unsafe fuse_reply_open(request, &info) }
    }
}

extension Reply where Value == Created {
    /// False: no `release` and no `forget` will come.
    ///
    /// Source: fuse_reply_create.
    public consuming func succeed(_ created: Created) -> Bool {
        var parameters = fuse_entry_param(created.entry)
        var info = created.opened.info
        return unsafe answer { request in unsafe fuse_reply_create(request, &parameters, &info) }
    }
}

extension Reply where Value == Bytes {
    /// Answers with `bytes`, which reach the kernel before this returns, without a copy. Fewer than requested mean the
    /// end of the file; more are a programming error.
    ///
    /// Source: fuse_reply_buf.
    @discardableResult
    public consuming func succeed(_ bytes: RawSpan) -> Bool {
        precondition(bytes.byteCount <= limit)
        return send(bytes)
    }
}

extension Reply where Value == Count {
    /// Source: fuse_reply_write.
    @discardableResult
    public consuming func succeed(_ count: Int) -> Bool {
        unsafe answer { request in unsafe fuse_reply_write(request, count) }
    }
}

extension Reply where Value == Offset {
    /// Source: fuse_reply_lseek.
    @discardableResult
    public consuming func succeed(_ offset: Int64) -> Bool {
        unsafe answer { request in unsafe fuse_reply_lseek(request, off_t(offset)) }
    }
}

extension Reply where Value == LinkTarget {
    /// Answers with 1 to 4,095 bytes, none of them NUL.
    @discardableResult
    public consuming func succeed(_ target: [UInt8]) -> Bool {
        unsafe send(target.span.bytes)
    }
}

extension Reply where Value == AttributeValue {
    /// Answers with the value, or with its size if that was asked for; ERANGE if the caller's buffer is too small.
    ///
    /// Source: fuse_reply_xattr, fuse_reply_buf; getxattr(2).
    @discardableResult
    public consuming func succeed(_ value: [UInt8]) -> Bool {
        sendSized(value)
    }
}

extension Reply where Value == AttributeNames {
    /// Answers with the names, or with the size of their list; ERANGE if the caller's buffer is too small.
    ///
    /// Source: fuse_reply_xattr, fuse_reply_buf; listxattr(2).
    @discardableResult
    public consuming func succeed(_ names: [[UInt8]]) -> Bool {
        var list: [UInt8] = []
        for name in names {
            list += name
            list.append(0)
        }
        return sendSized(list)
    }
}

extension Reply where Value == FileSystemStatistics {
    /// Source: fuse_reply_statfs.
    @discardableResult
    public consuming func succeed(_ statistics: FileSystemStatistics) -> Bool {
        var status = statvfs()
        status.f_bsize = UInt(statistics.blockSize)
        status.f_frsize = UInt(statistics.fragmentSize)
        status.f_blocks = UInt(statistics.blocks)
        status.f_bfree = UInt(statistics.freeBlocks)
        status.f_bavail = UInt(statistics.availableBlocks)
        status.f_files = UInt(statistics.files)
        status.f_ffree = UInt(statistics.freeFiles)
        status.f_namemax = UInt(statistics.maximumNameLength)
        return unsafe answer { request in unsafe fuse_reply_statfs(request, &status) }
    }
}

extension Reply where Value == Listing {
    @discardableResult
    public consuming func succeed(_ listing: borrowing Listing) -> Bool {
        let memory = unsafe listing.memory
        return unsafe send(memory)
    }
}

extension Reply where Value == EntryListing {
    /// False: no entry of the listing counts as looked up.
    public consuming func succeed(_ listing: borrowing EntryListing) -> Bool {
        let memory = unsafe listing.memory
        return unsafe send(memory)
    }
}

extension Reply where Value: ~Copyable {
    consuming func send(_ bytes: RawSpan) -> Bool {
        unsafe answer { request in
            unsafe bytes.withUnsafeBytes { memory in unsafe replyBuffer(request, memory) }
        }
    }

    consuming func send(_ memory: UnsafeRawBufferPointer) -> Bool {
        unsafe answer { request in unsafe replyBuffer(request, memory) }
    }

    consuming func sendSized(_ bytes: [UInt8]) -> Bool {
        if limit == 0 {
            return unsafe answer { request in unsafe fuse_reply_xattr(request, bytes.count) }
        }
        guard bytes.count <= limit else {
            fail(.ERANGE)
            return true
        }
        return unsafe send(bytes.span.bytes)
    }
}

private func replyBuffer(_ request: fuse_req_t, _ memory: UnsafeRawBufferPointer) -> Int32 {
    let start = unsafe memory.baseAddress?.assumingMemoryBound(to: CChar.self)
    return unsafe fuse_reply_buf(request, start, memory.count)
}

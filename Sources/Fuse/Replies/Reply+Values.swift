import CFuse
import Posix

// The structures are those of linux/fuse.h.

extension Reply where Value == Done {
    @discardableResult
    public consuming func succeed() -> Bool {
        unsafe released().answer(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

extension Reply where Value == Entry {
    public consuming func succeed(_ entry: Entry) -> Bool { released().answer(with: fuse_entry_out(entry)) }

    /// Answers that the name does not exist, which the kernel may cache for `timeout` seconds.
    @discardableResult
    public consuming func succeedWithout(timeout: Double) -> Bool {
        released().answer(with: fuse_entry_out(missingFor: timeout))
    }
}

extension Reply where Value == Attributes {
    @discardableResult
    public consuming func succeed(_ attributes: Attributes) -> Bool {
        released().answer(with: fuse_attr_out(attributes))
    }
}

extension Reply where Value == ExtendedAttributes {
    @discardableResult
    public consuming func succeed(_ attributes: ExtendedAttributes) -> Bool {
        released().answer(with: lk_fuse_statx_out(attributes))
    }
}

extension Reply where Value == Opened {
    /// False: no `release` will come, so the caller must release the handle now.
    public consuming func succeed(_ opened: Opened) -> Bool { released().answer(with: fuse_open_out(opened)) }
}

extension Reply where Value == Created {
    /// False: no `release` and no `forget` will come.
    public consuming func succeed(_ created: Created) -> Bool {
        released().answer(with: CreatedOut(entry: fuse_entry_out(created.entry), opened: fuse_open_out(created.opened)))
    }
}

/// The answer to FUSE_CREATE: two structures, one behind the other.
private struct CreatedOut: BitwiseCopyable {
    var entry: fuse_entry_out
    var opened: fuse_open_out
}

extension Reply where Value == Bytes {
    /// Answers with `bytes`, which reach the kernel before this returns, or are copied into memory that is wiped then.
    /// Fewer than requested mean the end of the file; more are a programming error.
    @discardableResult
    public consuming func succeed(_ bytes: RawSpan) -> Bool {
        precondition(bytes.byteCount <= limit)
        let port = released()
        return unsafe bytes.withUnsafeBytes { memory in unsafe port.answer(memory, holdsContents: true) }
    }
}

extension Reply where Value == Count {
    @discardableResult
    public consuming func succeed(_ count: Int) -> Bool {
        released().answer(with: fuse_write_out(size: UInt32(count), padding: 0))
    }
}

extension Reply where Value == Offset {
    @discardableResult
    public consuming func succeed(_ offset: Int64) -> Bool {
        released().answer(with: fuse_lseek_out(offset: UInt64(bitPattern: offset)))
    }
}

extension Reply where Value == LinkTarget {
    /// Answers with 1 to 4,095 bytes, none of them NUL.
    @discardableResult
    public consuming func succeed(_ target: [UInt8]) -> Bool {
        let port = released()
        return unsafe target.withUnsafeBytes { memory in unsafe port.answer(memory) }
    }
}

extension Reply where Value == AttributeValue {
    /// Answers with the value, or with its size if that was asked for; ERANGE if the caller's buffer is too small.
    ///
    /// Source: getxattr(2).
    @discardableResult
    public consuming func succeed(_ value: [UInt8]) -> Bool { answer(sized: value) }
}

extension Reply where Value == AttributeNames {
    /// Answers with the names, or with the size of their list; ERANGE if the caller's buffer is too small.
    ///
    /// Source: listxattr(2).
    @discardableResult
    public consuming func succeed(_ names: [[UInt8]]) -> Bool {
        var list: [UInt8] = []
        for name in names {
            list += name
            list.append(0)
        }
        return answer(sized: list)
    }
}

extension Reply where Value == FileSystemStatistics {
    @discardableResult
    public consuming func succeed(_ statistics: FileSystemStatistics) -> Bool {
        released().answer(with: fuse_statfs_out(st: fuse_kstatfs(statistics)))
    }
}

extension Reply where Value == Listing {
    @discardableResult
    public consuming func succeed(_ listing: borrowing Listing) -> Bool {
        let memory = unsafe listing.memory
        return unsafe released().answer(memory)
    }
}

extension Reply where Value == EntryListing {
    /// False: no entry of the listing counts as looked up.
    public consuming func succeed(_ listing: borrowing EntryListing) -> Bool {
        let memory = unsafe listing.memory
        return unsafe released().answer(memory)
    }
}

extension Reply where Value: ~Copyable {
    fileprivate consuming func answer(sized bytes: [UInt8]) -> Bool {
        if limit == 0 { return released().answer(with: fuse_getxattr_out(size: UInt32(bytes.count), padding: 0)) }
        guard bytes.count <= limit else {
            fail(.ERANGE)
            return true
        }
        let port = released()
        return unsafe bytes.withUnsafeBytes { memory in unsafe port.answer(memory) }
    }
}

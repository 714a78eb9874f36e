import Format
import Posix
import Store

// What stat(2) shows, in an attribute of the backing file: docs/FORMAT.md, "Summaries". If a summary cannot be set or
// read, the header is used.

extension Vault {
    /// What stat(2) shows of a regular file that is not in memory; nil if the header must be read.
    ///
    /// - Parameter own: the status of its backing file, which has the name `stored`.
    func summarized(
        _ own: FileStatus, _ stored: Name, _ name: Name, in parent: Directory
    ) -> (FileStatus, FileSummary)? {
        // In a vault that is only read, the journal may have a newer header.
        guard traits.hasAttributes, !isReadOnly, own.kind == .regular, own.linkCount == 1,
            own.modified.nanoseconds == 0, files.file(ofInode: own.inode) == nil,
            !left.distrusted.withLock({ $0.contains(own.inode) }), !isHidden(stored, own.kind, in: parent)
        else { return nil }
        var value: InlineArray<66, UInt8> = .init(repeating: 0)
        do throws(Errno) {
            var elements = value.mutableSpan
            var span = unsafe elements.mutableBytes
            let count = try store.attribute(FileSummary.attribute, of: stored, in: parent.descriptor, into: &span)
            guard count == FileSummary.byteCount else { return nil }
        } catch { return nil }
        let binding = binding(of: name, in: parent)
        guard let summary = summary(unsafe value.span.bytes, at: binding, own), isFresh(summary, at: binding) else {
            return nil
        }
        var status = own
        status.size = Int64(BlockGeometry.storedLength(forBackingSize: UInt64(own.size)))
        status.modified = Timespec(summary.shownTime)
        status.changed = Timespec(summary.shownChange(of: FileTime(own.changed)))
        return (status, summary)
    }

    /// Decodes and checks the summary of the file at `binding` with the backing status `own`; nil if it is not valid.
    private func summary(_ bytes: RawSpan, at binding: NameBinding, _ own: FileStatus) -> FileSummary? {
        guard own.modified.nanoseconds == 0, let summary = try? FileSummary(decoding: bytes) else { return nil }
        let signed = summary.signed(at: binding, size: UInt64(own.size), stamp: own.modified.seconds)
        let tag = bytes.extracting(FileSummary.byteCount - FileSummary.tagByteCount..<FileSummary.byteCount)
        return keys.summaries.verify(truncated: tag, of: unsafe signed.span.bytes) ? summary : nil
    }

    /// Distrusts a valid summary that does not belong to the header: a crash has left it, or an attacker has restored
    /// it. `ESTALE` if it showed another length; the caller then reads the header.
    func checkSummary(
        of file: Descriptor, _ own: FileStatus, against header: FileHeader, at binding: NameBinding
    ) throws(VaultError) {
        guard traits.hasAttributes, !isReadOnly, own.modified.nanoseconds == 0,
            !left.distrusted.withLock({ $0.contains(own.inode) }),
            let bytes = try? store.attribute(FileSummary.attribute, of: file),
            let summary = unsafe summary(bytes.span.bytes, at: binding, own),
            summary.file != header.file || summary.generation != header.generation
        else { return }
        distrustSummary(ofInode: own.inode)
        let told = BlockGeometry.storedLength(forBackingSize: UInt64(own.size))
        if told != header.provisionalLength { throw .system(.ESTALE) }
    }

    /// Sets the summary for a header and stamp that have just been written to a backing file.
    ///
    /// The backing file may still have a stale tail. The MAC covers the size after that is truncated, and is wrong
    /// until then.
    func summarize(_ header: FileHeader, of file: Descriptor) {
        guard traits.hasAttributes, let summary = FileSummary(header) else { return }
        let size = BlockGeometry.backingSize(forLength: header.length)
        let signed = summary.signed(at: header.bindings[0], size: size, stamp: header.stamp)
        let tag = keys.summaries.tag(of: unsafe signed.span.bytes)
        let fields = unsafe signed.span.bytes.array(0..<FileSummary.byteCount - FileSummary.tagByteCount)
        let value = fields + tag.prefix(FileSummary.tagByteCount)
        // No permissions are added for it: a daemon that is killed meanwhile would leave them, and the header serves as
        // well.
        do throws(Errno) {
            try store.setAttribute(FileSummary.attribute, to: value, flags: 0, of: file)
        } catch { return }
    }

    /// Removes the summary of a backing file that is longer than a file of `length` bytes needs. True if there may have
    /// been one: then its absence must be durable before the header that makes the journal's records dead. Otherwise a
    /// crash between the two lets stat(2) show the old length until the file is opened.
    func dropSummary(of file: Descriptor, ifLongerThan length: UInt64) throws(VaultError) -> Bool {
        let size = try backing { () throws(Errno) in try store.status(of: file).size }
        guard traits.hasAttributes, UInt64(size) > BlockGeometry.backingSize(forLength: length),
            try !hasPending(file)
        else { return false }
        do throws(Errno) { try store.removeAttribute(FileSummary.attribute, of: file) } catch {
            // An ordinary user's file may not be writable any more. Then the old summary stays until the file is
            // opened.
            guard [.ENODATA, .EOPNOTSUPP, .EPERM, .EACCES].contains(error) else { throw .system(error) }
        }
        return true
    }

    /// Notes that a header has shown a summary to be wrong.
    public func distrustSummary(ofInode inode: UInt64) {
        _ = left.distrusted.withLock { $0.insert(inode) }
    }

    /// What stat(2) shows of a name; nil if its summary is not valid or it is not the expected file.
    public func summarizedStatus(
        of name: Name, in parent: Directory, expecting expected: (file: FileIdentifier, inode: UInt64)
    ) throws(VaultError) -> (FileStatus, FileSummary)? {
        let stored = try storedName(name, in: parent).name
        let own = try backingStatus(of: .entry(stored, in: parent.descriptor))
        guard own.inode == expected.inode,
            let (status, summary) = summarized(own, stored, name, in: parent), summary.file == expected.file
        else { return nil }
        return (status, summary)
    }
}

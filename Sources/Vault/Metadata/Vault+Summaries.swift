import Format
import Posix
import Store

// What stat(2) shows, in an attribute of the backing file: docs/FORMAT.md, "Summaries". One that cannot be set or read
// is none: then the header tells.

extension Vault {
    /// What stat(2) shows of a regular file that is not in memory; nil where only its header can tell.
    ///
    /// - Parameter own: the status of its backing file, which stands under `stored`.
    func summarized(
        _ own: FileStatus, _ stored: Name, _ name: Name, in parent: Directory
    ) -> (FileStatus, FileSummary)? {
        // A vault that is only read may have another header in its journal.
        guard traits.hasAttributes, !isReadOnly, own.kind == .regular, own.linkCount == 1,
            own.modified.nanoseconds == 0, files.file(ofInode: own.inode) == nil,
            !distrusted.withLock({ $0.contains(own.inode) }), !isHidden(stored, in: parent)
        else { return nil }
        var value: InlineArray<66, UInt8> = .init(repeating: 0)
        do throws(Errno) {
            var elements = value.mutableSpan
            var span = unsafe elements.mutableBytes
            let count = try store.attribute(FileSummary.attribute, of: stored, in: parent.descriptor, into: &span)
            guard count == FileSummary.byteCount else { return nil }
        } catch { return nil }
        guard let summary = summary(unsafe value.span.bytes, at: binding(of: name, in: parent), own) else { return nil }
        var status = own
        status.size = Int64(BlockGeometry.storedLength(forBackingSize: UInt64(own.size)))
        status.modified = Timespec(summary.shownTime)
        status.changed = Timespec(summary.shownChange(of: FileTime(own.changed)))
        return (status, summary)
    }

    /// What `bytes` say of the file at `binding` with the backing file's status `own`; nil if they do not count.
    private func summary(_ bytes: RawSpan, at binding: NameBinding, _ own: FileStatus) -> FileSummary? {
        guard own.modified.nanoseconds == 0, let summary = try? FileSummary(decoding: bytes) else { return nil }
        let signed = summary.signed(at: binding, size: UInt64(own.size), stamp: own.modified.seconds)
        let tag = bytes.extracting(FileSummary.byteCount - FileSummary.tagByteCount..<FileSummary.byteCount)
        return keys.summaries.verify(truncated: tag, of: unsafe signed.span.bytes) ? summary : nil
    }

    /// Distrusts a summary that counts beside another header than its own: a crash has left it, or somebody has put it
    /// back. `ESTALE` if it has told of another length; then the header is asked.
    func checkSummary(
        of file: Descriptor, _ own: FileStatus, against header: FileHeader, at binding: NameBinding
    ) throws(VaultError) {
        guard traits.hasAttributes, !isReadOnly, own.modified.nanoseconds == 0,
            !distrusted.withLock({ $0.contains(own.inode) }),
            let bytes = try? store.attribute(FileSummary.attribute, of: file),
            let summary = unsafe summary(bytes.span.bytes, at: binding, own),
            summary.file != header.file || summary.generation != header.generation
        else { return }
        distrustSummary(ofInode: own.inode)
        let told = BlockGeometry.storedLength(forBackingSize: UInt64(own.size))
        if told != header.provisionalLength { throw .system(.ESTALE) }
    }

    /// Says what a header says that has just been written to a backing file, and its stamp with it.
    ///
    /// The backing file may be longer yet: what is behind its end goes, and until then the MAC fits nothing.
    func summarize(_ header: FileHeader, of file: Descriptor) {
        guard traits.hasAttributes, let summary = FileSummary(header) else { return }
        let size = BlockGeometry.backingSize(forLength: header.length)
        let signed = summary.signed(at: header.bindings[0], size: size, stamp: header.stamp)
        let tag = keys.summaries.tag(of: unsafe signed.span.bytes)
        let fields = unsafe signed.span.bytes.array(0..<FileSummary.byteCount - FileSummary.tagByteCount)
        let value = fields + tag.prefix(FileSummary.tagByteCount)
        // No permissions are lent for it: a daemon that dies meanwhile would leave them, and the header tells as well.
        do throws(Errno) {
            try store.setAttribute(FileSummary.attribute, to: value, flags: 0, of: file)
        } catch { return }
    }

    /// Takes the summary of a backing file away that is longer than a file of `length` bytes is: it tells of more. True
    /// if there may have been one. Then its absence must be durable before the header is that makes the journal's
    /// records void: between the two, stat(2) would show the old length until somebody opens the file.
    func dropSummary(of file: Descriptor, ifLongerThan length: UInt64) throws(VaultError) -> Bool {
        let size = try backing { () throws(Errno) in try store.status(of: file).size }
        guard traits.hasAttributes, UInt64(size) > BlockGeometry.backingSize(forLength: length) else { return false }
        do throws(Errno) { try store.removeAttribute(FileSummary.attribute, of: file) } catch {
            // The file of an ordinary user may not be writable any more; then the old one stays until it is opened.
            guard [.ENODATA, .EOPNOTSUPP, .EPERM, .EACCES].contains(error) else { throw .system(error) }
        }
        return true
    }

    /// A header has shown that the summary of a backing file is not true.
    public func distrustSummary(ofInode inode: UInt64) {
        _ = distrusted.withLock { $0.insert(inode) }
    }

    /// What stat(2) shows of a file that stands under a name, if its summary tells and it is the one that is meant.
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

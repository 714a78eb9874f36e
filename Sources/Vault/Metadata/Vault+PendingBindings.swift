import Format
import Posix
import Store

// Name bindings that a crash may have kept from the header: docs/FORMAT.md, "Pending bindings".

extension Vault {
    /// Reads the header of a file that was found at a name. If the file belongs there, `bindings` has that name, even
    /// if a crash has kept it from the header.
    ///
    /// - Throws: `damaged` if the file belongs to another name.
    func readHeader(of descriptor: Descriptor, foundAt binding: NameBinding) throws(VaultError) -> FileHeader {
        let header = try readHeader(of: descriptor)
        guard let found = try self.header(header, of: descriptor, foundAt: binding) else {
            throw .damaged("the file here belongs to another name")
        }
        return found
    }

    /// The header of a file that was found at a name, with the binding of that name; nil if the file does not belong
    /// there.
    package func header(
        _ header: FileHeader, of descriptor: Descriptor, foundAt binding: NameBinding
    ) throws(VaultError) -> FileHeader? {
        if header.belongs(at: binding) { return header }
        guard header.pending == nil, let value = try attributeValue(of: descriptor),
            let pending = try? unsafe PendingBindings(decoding: value.span.bytes), pending.hold(binding, for: header)
        else { return nil }
        let tag = unsafe value.span.bytes.extracting(value.count - FileSummary.tagByteCount..<value.count)
        guard unsafe keys.summaries.verify(truncated: tag, of: pending.signed(of: header.file).span.bytes) else {
            return nil
        }
        var found = header
        found.bindings = (header.bindings + [binding]).suffix(FileHeader.mostBindings)
        return found
    }

    /// The attribute that holds a file's summary or its pending bindings; nil if it has none. An attribute that cannot
    /// be read is an error: without it, the file could be taken for one that belongs elsewhere.
    private func attributeValue(of descriptor: Descriptor) throws(VaultError) -> [UInt8]? {
        guard traits.hasAttributes else { return nil }
        do throws(VaultError) {
            return try withOwnerPermissions(0o400, of: .file(descriptor)) { () throws(VaultError) in
                try backing { () throws(Errno) in try store.attribute(FileSummary.attribute, of: descriptor) }
            }
        } catch {
            guard error == .system(.ENODATA) || error == .system(.EOPNOTSUPP) else { throw error }
            return nil
        }
    }

    /// Stores the bindings of a header that was written and not flushed, in place of the file's summary.
    func setPending(_ header: FileHeader, of descriptor: Descriptor) throws(Errno) {
        let pending = PendingBindings(header.bindings, upTo: header.generation)
        let signed = pending.signed(of: header.file)
        let tag = unsafe keys.summaries.tag(of: signed.span.bytes)
        let value = signed.dropLast(FileIdentifier.byteCount) + tag.prefix(FileSummary.tagByteCount)
        try store.setAttribute(FileSummary.attribute, to: Array(value), flags: 0, of: descriptor)
    }

    /// Whether the file's attribute has pending bindings in place of a summary. Their MAC is not checked.
    func hasPending(_ descriptor: Descriptor) throws(VaultError) -> Bool {
        guard let value = try attributeValue(of: descriptor) else { return false }
        return (try? unsafe PendingBindings(decoding: value.span.bytes)) != nil
    }
}

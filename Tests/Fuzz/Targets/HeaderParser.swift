import Format

/// A file's header, 512 bytes; its MAC is ignored.
final class HeaderParser: FuzzedParser {
    init() {}

    func run(_ input: [UInt8]) throws(Finding) {
        guard let header = try? unsafe FileHeader(decoding: input.span.bytes) else { return }
        let signed = Array(input.prefix(FileHeader.signedByteCount))
        try demand(encode(header) == signed, "a header that is written otherwise")
        try demand(header.features.canRead, "a header with an unknown feature")
        try demand(
            header.length <= header.provisionalLength && header.provisionalLength <= FileHeader.largestLength,
            "a length of \(header.length) below \(header.provisionalLength)")
        let stamped = FileTime(seconds: header.stamp, nanoseconds: 0)
        try demand(
            header.modified.nanoseconds < 1_000_000_000 && header.shownTime(of: stamped) == header.modified,
            "a time of \(header.modified)")
        try demand(
            header.changed.nanoseconds < 1_000_000_000 && header.shownChange(of: header.written) == header.changed
                && header.hidesChange(now: header.written),
            "a time of change of \(header.changed)")
        try demand(header.bindings.isEmpty == header.flags.contains(.manyLinks), "a file of no bindings")
        for binding in header.bindings + [.zero] { try resolve(header, at: binding) }
    }

    /// What holds of a file that is found under a name.
    private func resolve(_ header: FileHeader, at binding: NameBinding) throws(Finding) {
        let belongs = header.bindings.isEmpty || header.bindings.contains(binding)
        try demand(header.belongs(at: binding) == belongs, "a file that belongs where it does not")
        let resolved = header.resolved(at: binding)
        try demand(
            resolved.pending == nil && resolved.resolved(at: binding) == resolved, "a header that does not resolve")
        let isLast = header.bindings.last == binding
        try demand(
            resolved.protection == (isLast ? header.pending ?? header.protection : header.protection),
            "the class of another place")
        let bytes = encode(resolved) + [UInt8](repeating: 0, count: FileHeader.tagByteCount)
        let again = try demandSuccess(of: "reading a resolved header") { () throws(FormatError) in
            try unsafe FileHeader(decoding: bytes.span.bytes)
        }
        try demand(again == resolved, "a header that is read otherwise")
    }

    private func encode(_ header: FileHeader) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: FileHeader.signedByteCount)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        header.encode(into: &span)
        return bytes
    }
}

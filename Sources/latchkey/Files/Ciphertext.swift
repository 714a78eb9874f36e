import Administration
import Format
import Glibc
import Posix

/// A backing file's header and first block as they are on disk.
///
/// Read without any key, so nothing is verified: it is what a thief sees, and what an attacker may have written.
struct Ciphertext: Encodable {
    /// Name and value, in the order of docs/FORMAT.md.
    private struct Field: Encodable {
        let name: String
        let value: String
    }

    private let path: Path
    private let size: Int64
    private let fields: [Field]
    private let header: [UInt8]
    private let block: [UInt8]

    /// Header and first block.
    private static let shownByteCount = FileHeader.byteCount + Int(BlockGeometry.storedBlockSize)

    init(of path: Path) throws(CommandError) {
        self.path = path
        do {
            let (folder, name) = try Descriptor.parent(of: path)
            let file = try folder.open(name, O_PATH | O_NOFOLLOW)
            let status = try file.status()
            switch status.kind {
            case .regular:
                size = status.size
                let bytes = try folder.open(name, O_RDONLY | O_NOFOLLOW).bytes(atMost: Self.shownByteCount)
                header = Array(bytes.prefix(FileHeader.byteCount))
                block = Array(bytes.dropFirst(FileHeader.byteCount))
                fields = Self.fields(of: header)
            case .symbolicLink:
                (size, header, block) = (status.size, try folder.readSymbolicLink(name), [])
                fields = [Field(name: "symbolic link", value: String(decoding: header, as: UTF8.self))]
            case .directory:
                let record = try Self.record(of: file)
                (size, header, block) = (Int64(record.count), record, [])
                fields = [Field(name: "directory record", value: String(decoding: record, as: UTF8.self))]
            default:
                (size, header, block) = (0, [], [])
                fields = [Field(name: "stored as such", value: "only its name is encrypted")]
            }
        } catch {
            throw CommandError(cannot: "read", path, error)
        }
    }

    var text: Printable {
        var table = Table()
        table.add("bytes on disk", "\(size)")
        for field in fields { table.add("\(field.name)", "\(field.value)") }
        var parts: [Printable] = ["\(path)\n\(table.lines(indent: 2))"]
        if !header.isEmpty { parts.append(HexDump.lines(header)) }
        if !block.isEmpty {
            parts.append("block 0: nonce, ciphertext, tag\n\(HexDump.lines(block, from: FileHeader.byteCount))")
        }
        return parts.joined(separator: "\n\n")
    }

    private enum Key: String, CodingKey { case size, fields, header, block }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(size, forKey: .size)
        try container.encode(
            Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }), forKey: .fields)
        try container.encode(String(hexadecimal: header), forKey: .header)
        try container.encode(String(hexadecimal: block), forKey: .block)
    }

    /// A directory's record: the target of a symbolic link, or a file if the store has no symbolic links.
    private static func record(of folder: Descriptor) throws(Errno) -> [UInt8] {
        let name = Name(stringLiteral: BackingName.directoryRecord)
        do {
            return try folder.readSymbolicLink(name)
        } catch .EINVAL {
            return try folder.open(name, O_RDONLY | O_NOFOLLOW).bytes(atMost: FileHeader.byteCount)
        }
    }

    private static func fields(of bytes: [UInt8]) -> [Field] {
        let header: FileHeader
        do {
            header = try unsafe FileHeader(decoding: bytes.span.bytes, isSynchronised: true)
        } catch {
            return [Field(name: "header", value: "not one of a Latchkey file: \(error)")]
        }
        let flags: [(FileHeader.Flags, String)] = [
            (.explicitClass, "class set on it"), (.manyLinks, "many links"), (.moving, "moving"),
        ]
        let wrap =
            switch header.protection.wrapAlgorithm {
            case 1: "AES-256 key wrap (RFC 3394)"
            case 2: "ephemeral X25519, then AES-256 key wrap"
            default: "algorithm \(header.protection.wrapAlgorithm)"
            }
        return [
            Field(name: "volume ID", value: "\(header.volume)"),
            Field(name: "file ID", value: "\(header.file)"),
            Field(name: "class", value: ProtectionClassName(header.protectionClass).text),
            Field(
                name: "flags",
                value: flags.filter { header.flags.contains($0.0) }.map(\.1).joined(separator: ", ").orNone),
            Field(name: "wrap", value: "\(wrap), \(header.protection.wrap.count) bytes"),
            Field(name: "wrapped key", value: String(hexadecimal: header.protection.wrap)),
            Field(name: "generation", value: "\(header.generation)"),
            Field(name: "length", value: "\(header.provisionalLength)"),
            Field(name: "confirmed length", value: "\(header.length)"),
            Field(
                name: "first sparse block",
                value: header.firstSparseBlock == FileHeader.noSparseBlock ? "none" : "\(header.firstSparseBlock)"),
            Field(name: "places", value: header.bindings.map { "\($0)" }.joined(separator: ", ").orNone),
            Field(name: "MAC", value: String(hexadecimal: bytes[FileHeader.signedByteCount...])),
        ]
    }
}

extension String {
    fileprivate var orNone: String { isEmpty ? "none" : self }
}

import Administration
import Control
import Format
import Glibc
import Posix
import Vault

/// A version of a file that a synchronisation program has put aside.
struct Conflict: Encodable {
    let path: Path
    /// The file that it is a version of, which may be missing.
    let original: Path
    let size: UInt64
    /// Seconds since 1970.
    let modified: Double

    private enum CodingKeys: String, CodingKey { case path, pathBase64, of, ofBase64, size, modified }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(PathInJSON.text(path), forKey: .path)
        try fields.encodeIfPresent(PathInJSON.base64(path), forKey: .pathBase64)
        try fields.encode(PathInJSON.text(original), forKey: .of)
        try fields.encodeIfPresent(PathInJSON.base64(original), forKey: .ofBase64)
        try fields.encode(size, forKey: .size)
        try fields.encode(modified, forKey: .modified)
    }

    /// The version at a path.
    ///
    /// - Throws: if it is none.
    init(at path: Path) throws(CommandError) {
        let found: Self?
        do throws(Errno) { found = try Self(path) } catch { throw CommandError(cannot: "look at", path, error) }
        guard let found else {
            throw CommandError(.notFound, "\(path) is no version that was put aside", try: "latchkey conflicts list")
        }
        self = found
    }

    /// Nil if it is none.
    init?(_ path: Path) throws(Errno) {
        let parts = path.split
        let file = try Descriptor.open(path: path, O_PATH | O_NOFOLLOW)
        let status = try file.status()
        // Not every program that copies the vault copies attributes; the name says it as well.
        let labels = [try? file.attribute(Vault.conflictAttribute), ConflictCopy.trueName(ofShown: parts.last.bytes)]
        guard status.kind == .regular, let name = labels.lazy.compactMap({ $0.flatMap(Name.init(bytes:)) }).first else {
            return nil
        }
        self.path = path
        original = parts.folder.asFolder + Path(bytes: name.bytes)
        size = UInt64(max(0, status.size))
        modified = Double(status.modified.seconds)
    }
}

/// Looks for conflicts in folders and all below them, as far as they lie in one mount.
struct ConflictWalk {
    private(set) var found: [Conflict] = []
    private(set) var failures = Failures()

    mutating func search(_ top: Path) {
        do throws(CommandError) { try walk(top) } catch { failures.add(error) }
    }

    private mutating func walk(_ top: Path) throws(CommandError) {
        var left = [top]
        let device: UInt64
        do throws(Errno) { device = try Descriptor.open(path: top, O_PATH).status().device } catch {
            throw CommandError(cannot: "look into", top, error)
        }
        guard try inWords(try MountTable()).latchkeyMount(device: device) != nil else {
            throw CommandError(.notFound, "\(top) is not in a Latchkey mount", try: "latchkey status")
        }
        while let folder = left.popLast() {
            do throws(Errno) { try look(into: folder, on: device, &left) } catch {
                failures.add(CommandError(cannot: "look into", folder, error))
            }
        }
    }

    private mutating func look(into folder: Path, on device: UInt64, _ left: inout [Path]) throws(Errno) {
        let descriptor = try Descriptor.open(path: folder, O_RDONLY | O_DIRECTORY)
        guard try descriptor.status().device == device else { return }
        for entry in try descriptor.entries() {
            let path = folder.asFolder + Path(bytes: entry.name.bytes)
            if entry.kind == .directory { left.append(path) }
            // The attribute alone counts; that of each other file would be read in vain.
            guard Self.mayBeConflict(entry.name) else { continue }
            if let conflict = try? Conflict(path) { found.append(conflict) }
        }
    }

    private static let mark = Array(" (conflict".utf8)

    private static func mayBeConflict(_ name: Name) -> Bool {
        let bytes = name.bytes
        return bytes.indices.contains { bytes[$0...].starts(with: mark) }
    }
}

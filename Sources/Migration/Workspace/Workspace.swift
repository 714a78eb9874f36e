import Glibc
public import Posix
public import Store

/// The hidden folder beside a folder under migration. It has the vault until a `protect` has ended, copies that have no
/// name yet, originals on their way out, and what the next run must know after an interruption.
///
/// For one thread.
public final class Workspace {
    /// Holds the folder under migration and the workspace.
    public let store: any Store
    public let folder: Descriptor
    let staging: Descriptor
    let removed: Descriptor
    let wiped: Descriptor

    /// The workspace's name beside the folder `name`; nil for a name that is too long.
    public static func name(for name: Name) -> Name? {
        Name(bytes: [UInt8(ascii: ".")] + name.bytes + Array(".latchkey".utf8))
    }

    /// Opens the workspace, or makes it.
    ///
    /// - Parameter parent: the folder that holds it, of the store.
    public init(_ name: Name, in parent: Descriptor, _ store: any Store) throws(Errno) {
        self.store = store
        folder = try Self.openOrMake(name, in: parent, store)
        staging = try Self.openOrMake("staging", in: folder, store)
        removed = try Self.openOrMake("removed", in: folder, store)
        wiped = try Self.openOrMake("wiped", in: folder, store)
    }

    private static func openOrMake(_ name: Name, in parent: Descriptor, _ store: any Store) throws(Errno) -> Descriptor
    {
        do throws(Errno) {
            try store.makeDirectory(name, in: parent, mode: 0o700)
            // Before a file is moved into it.
            try store.synchronize(parent, dataOnly: false)
        } catch { guard error == .EEXIST else { throw error } }
        return try open(name, in: parent, store)
    }

    /// Opens a workspace that is there. `EPERM` if another user can change what is in it.
    public static func open(_ name: Name, in parent: Descriptor, _ store: any Store) throws(Errno) -> Descriptor {
        let folder = try store.open(name, in: parent, O_RDONLY | O_DIRECTORY)
        // Another user could take files out, or put some in.
        let status = try store.status(of: folder)
        guard status.owner == geteuid(), status.permissions & 0o077 == 0 else { throw .EPERM }
        return folder
    }

    // MARK: The record

    private static let record: Name = "record"

    /// What the last run has written, nil if it has not come so far.
    public static func record(in folder: Descriptor, _ store: any Store) throws(Errno) -> [String: String]? {
        let file: Descriptor
        do throws(Errno) { file = try store.open(record, in: folder, O_RDONLY | O_NONBLOCK) } catch .ENOENT {
            return nil
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var elements = buffer.mutableSpan
        var span = unsafe elements.mutableBytes
        let count = try store.read(file, into: &span, at: 0)
        var fields: [String: String] = [:]
        for line in buffer[..<count].split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2, let value = LineField.bytes(Substring(decoding: parts[1], as: UTF8.self)) else {
                continue
            }
            fields[String(decoding: parts[0], as: UTF8.self)] = String(decoding: value, as: UTF8.self)
        }
        return fields
    }

    /// Writes the record, durably. Keys have no spaces.
    public func write(record fields: [String: String]) throws(Errno) {
        let text = fields.sorted { $0.key < $1.key }.map { "\($0.key) \(LineField.hex(Array($0.value.utf8)))\n" }
        let new: Name = "record.new"
        let file = try store.open(new, in: folder, O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
        let bytes = Array(text.joined().utf8)
        try unsafe store.write(bytes.span.bytes, to: file, at: 0)
        try store.synchronize(file, dataOnly: false)
        try store.rename(new, in: folder, to: Self.record, in: folder)
        try store.synchronize(folder, dataOnly: false)
    }

    // MARK: The end

    /// Removes the workspace, which holds nothing any more that is needed.
    public static func remove(_ name: Name, in parent: Descriptor, _ store: any Store) throws(Errno) {
        let folder = try store.open(name, in: parent, O_RDONLY | O_DIRECTORY)
        try empty(folder, store)
        try store.removeDirectory(name, in: parent)
        try store.synchronize(parent, dataOnly: false)
    }

    /// Whether a folder holds only what this program makes in a workspace, and no original.
    public static func holdsNothingElse(_ folder: Descriptor, _ store: any Store) throws(Errno) -> Bool {
        let known: Set<Name> = [
            "vault", "staging", "removed", "wiped", "folders", "removals", "digests", "record.new",
        ]
        for entry in try store.entries(of: folder) {
            guard known.contains(entry.name) else { return false }
            guard entry.name == "removed" else { continue }
            let removed = try store.open(entry.name, in: folder, O_RDONLY | O_DIRECTORY)
            guard try store.entries(of: removed).isEmpty else { return false }
        }
        return true
    }

    /// The record goes last: until then the folder is known for what it is.
    public static func empty(_ folder: Descriptor, _ store: any Store) throws(Errno) {
        for entry in try store.entries(of: folder) where entry.name != record {
            if try store.status(of: entry.name, in: folder).kind == .directory {
                try empty(try store.open(entry.name, in: folder, O_RDONLY | O_DIRECTORY), store)
                try store.removeDirectory(entry.name, in: folder)
            } else {
                try store.unlink(entry.name, in: folder)
            }
        }
        do throws(Errno) { try store.unlink(record, in: folder) } catch {
            guard error == .ENOENT else { throw error }
        }
    }
}

extension Name {
    /// A name that nothing in the workspace has.
    static func random() -> Name { Name(stringLiteral: String(UInt128.random(in: 0 ... .max), radix: 36)) }
}

public import Failure
import Format
import Glibc
public import Posix

/// An absolute path without symbolic links, `.` and `..`.
public struct AbsolutePath: Hashable, Sendable {
    public let path: Path

    /// Resolves every symbolic link; the file must exist.
    ///
    /// Source: realpath(3).
    public init(resolving path: Path) throws(Failure) {
        do throws(Errno) { self.path = try path.resolved() } catch {
            throw .file(error, doing: "find", path: path)
        }
    }

    /// - Parameter path: absolute already, and without symbolic links.
    public init(known path: Path) { self.path = path }

    /// From the bytes alone, symbolic links unresolved: for a path that the file system refuses to look up.
    public init(lexically path: Path) {
        var parts: [ArraySlice<UInt8>] = []
        var whole = path
        if !path.isAbsolute, let folder = Path.workingFolder { whole = folder.asFolder + path }
        for part in whole.components where !part.elementsEqual(".".utf8) {
            if part.elementsEqual("..".utf8) { _ = parts.popLast() } else { parts.append(part) }
        }
        self.path = Path(bytes: [UInt8(ascii: "/")] + parts.joined(separator: [UInt8(ascii: "/")]))
    }

    /// For a file that may not exist yet: resolves the longest existing part, and appends the other components.
    public init(ofPerhapsMissing path: Path) throws(Failure) {
        var missing: [Path] = []
        var existing = path.isEmpty ? "." : path
        while true {
            if let resolved = try? AbsolutePath(resolving: existing) {
                self.path = missing.reversed().reduce(resolved.path) { $0.asFolder + $1 }
                return
            }
            let (folder, last) = existing.trimmingTrailingSlashes.split
            missing.append(last)
            existing = folder
        }
    }

    /// A folder with a keybag, or with the previous keybag only, as a crash may leave it.
    public init(ofVault typed: Path) throws(Failure) {
        var status = stat()
        if typed.status(&status) != 0, Errno.current == .ENOENT {
            throw .noSuchVault(path: typed)
        }
        try self.init(resolving: typed)
        guard isVault else {
            if let hindrance { throw .file(hindrance, doing: "look into", path: typed) }
            throw lostKeybag(as: typed) ?? .noKeybag(path: typed)
        }
    }

    /// Why a folder with files of a vault has no keybag; nil if it has one, or is not the root of a vault.
    ///
    /// - Parameter typed: the path for the words.
    public func lostKeybag(as typed: Path) -> Failure? {
        guard !isVault else { return nil }
        let statement = erasure
        // A folder below the root has a record too, and the root above it has the keybag.
        let isRoot = holds(anyOf: BackingName.journal) || (holds(anyOf: BackingName.directoryRecord) && !isInVault)
        guard statement != nil || isRoot else { return nil }
        return .lostKeybag(path: typed, erased: statement?.erased)
    }

    private var isInVault: Bool {
        var folder = parent
        while let above = folder {
            if above.isVault || above.holds(anyOf: BackingName.journal, BackingName.erased) { return true }
            folder = above.parent
        }
        return false
    }

    /// What an erased vault says; nil for anything else in its place.
    private var erasure: ErasureStatement? {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        guard let file = try? Descriptor.open(path: path.asFolder + BackingName.erased, flags),
            (try? file.status().kind) == .regular
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: ErasureStatement.largest + 1)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        guard let count = try? file.read(into: &span, at: 0) else { return nil }
        return ErasureStatement(decoding: Array(bytes.prefix(count)))
    }

    /// Whether the folder has a keybag.
    public var isVault: Bool { holds(anyOf: BackingName.keybag, BackingName.oldKeybag) }

    /// Why this user cannot look for a keybag in the folder; nil if he can.
    public var hindrance: Errno? {
        var status = stat()
        guard (path.asFolder + BackingName.keybag).linkStatus(&status) != 0 else { return nil }
        let error = Errno.current
        return error == .ENOENT || error == .ENOTDIR ? nil : error
    }

    /// Whether the folder has files that only a vault's own folder has: it is or was a vault.
    public var hasRootFiles: Bool { holds(anyOf: BackingName.journal, BackingName.lock, BackingName.directoryRecord) }

    private func holds(anyOf names: String...) -> Bool {
        names.contains { name in
            var status = stat()
            return (path.asFolder + name).linkStatus(&status) == 0
        }
    }

    /// The parent folder; nil for the root.
    public var parent: AbsolutePath? { path == "/" ? nil : AbsolutePath(known: path.split.folder) }

    /// Whether this is `other` or lies below it.
    public func isInside(_ other: AbsolutePath) -> Bool { path.isInside(other.path) }

    /// The parent folder and the last component. `typed` is for the error that the root has no parent.
    func split(_ typed: Path) throws(Failure) -> (folder: Path, name: Name) {
        guard let parent, let name = path.lastName else { throw .rootFolder(path: typed) }
        return (parent.path, name)
    }
}

extension Descriptor {
    /// The folder of the last component of `path`, and that component, which may be a symbolic link.
    ///
    /// For a path that ends in `.`, `..` or a slash: that folder itself, and `.`.
    public static func parent(of path: Path) throws(Errno) -> (folder: Descriptor, name: Name) {
        let trimmed = path.trimmingTrailingSlashes
        let flags = O_PATH | O_DIRECTORY
        let (folder, last) = trimmed.split
        guard let name = Name(bytes: last.bytes) else { return (try open(path: trimmed, flags), .current) }
        return (try open(path: folder, flags), name)
    }
}

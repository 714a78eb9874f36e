public import Failure
import Format
import Glibc
public import Posix

/// An absolute path without symbolic links, `.` and `..`.
public struct AbsolutePath: Sendable {
    public let text: String

    /// Resolves every symbolic link; the file must exist.
    ///
    /// Source: realpath(3).
    public init(resolving path: String) throws(Failure) {
        guard let resolved = unsafe realpath(path, nil) else {
            throw .file(Errno.current, doing: "find", path: path)
        }
        defer { unsafe free(resolved) }
        text = unsafe String(cString: resolved)
    }

    /// - Parameter path: absolute already, and without symbolic links.
    public init(known path: String) { text = path }

    /// From the text alone, symbolic links unresolved: for a path that the file system refuses to look up.
    public init(lexically path: String) {
        var parts: [Substring] = []
        var whole = path
        if !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) {
            whole = unsafe String(cString: folder).asFolder + path
            unsafe free(folder)
        }
        for part in whole.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        text = "/" + parts.joined(separator: "/")
    }

    /// For a file that may not exist yet: resolves the longest existing part, and appends the other components.
    public init(ofPerhapsMissing path: String) throws(Failure) {
        var missing: [Substring] = []
        var existing = path.isEmpty ? "." : path
        while true {
            if let resolved = try? AbsolutePath(resolving: existing) {
                text = missing.reversed().reduce(resolved.text) { $0.asFolder + $1 }
                return
            }
            let trimmed = existing.trimmingTrailingSlashes
            guard let slash = trimmed.lastIndex(of: "/") else {
                missing.append(trimmed[...])
                existing = "."
                continue
            }
            missing.append(trimmed[trimmed.index(after: slash)...])
            existing = slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
        }
    }

    /// A folder with a keybag, or with the previous keybag only, as a crash may leave it.
    public init(ofVault typed: String) throws(Failure) {
        var status = stat()
        if unsafe stat(typed, &status) != 0, Errno.current == .ENOENT {
            throw .noSuchVault(path: typed)
        }
        try self.init(resolving: typed)
        guard isVault else {
            throw .noKeybag(path: typed)
        }
    }

    /// Whether the folder has a keybag.
    public var isVault: Bool { holds(anyOf: BackingName.keybag, BackingName.oldKeybag) }

    /// Whether the folder has files that only a vault's own folder has: it is or was a vault.
    public var hasRootFiles: Bool { holds(anyOf: BackingName.journal, BackingName.lock, BackingName.directoryRecord) }

    private func holds(anyOf names: String...) -> Bool {
        names.contains { name in
            var status = stat()
            return unsafe lstat(text.asFolder + name, &status) == 0
        }
    }

    /// The parent folder; nil for the root.
    public var parent: AbsolutePath? {
        guard text != "/", let slash = text.lastIndex(of: "/") else { return nil }
        return AbsolutePath(known: slash == text.startIndex ? "/" : String(text[..<slash]))
    }

    /// Whether this is `other` or lies below it.
    public func isInside(_ other: AbsolutePath) -> Bool {
        text.hasSameBytes(as: other.text) || text.lies(in: other.text)
    }

    /// The parent folder and the last component. `typed` is for the error that the root has no parent.
    func split(_ typed: String) throws(Failure) -> (folder: String, name: Name) {
        guard let parent, let name = Name(bytes: text.split(separator: "/").last?.utf8 ?? Substring().utf8) else {
            throw .rootFolder(path: typed)
        }
        return (parent.text, name)
    }
}

extension Descriptor {
    /// The folder of the last component of `path`, and that component, which may be a symbolic link.
    ///
    /// For a path that ends in `.`, `..` or a slash: that folder itself, and `.`.
    public static func parent(of path: String) throws(Errno) -> (folder: Descriptor, name: Name) {
        let trimmed = path.trimmingTrailingSlashes
        let start = trimmed.lastIndex(of: "/").map { trimmed.index(after: $0) } ?? trimmed.startIndex
        let flags = O_PATH | O_DIRECTORY
        guard let name = Name(bytes: trimmed[start...].utf8) else {
            return (try open(path: trimmed, flags), .current)
        }
        let folder = start == trimmed.startIndex ? "." : String(trimmed[..<start])
        return (try open(path: folder, flags), name)
    }
}

extension String {
    public var trimmingTrailingSlashes: String {
        var text = self
        while text.count > 1, text.hasSuffix("/") { text.removeLast() }
        return text
    }
}

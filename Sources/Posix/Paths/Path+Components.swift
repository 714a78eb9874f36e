extension Path {
    private static let slash = UInt8(ascii: "/")

    public var isAbsolute: Bool { bytes.first == Self.slash }

    /// What stands between slashes; repeated slashes count as one.
    public var components: [ArraySlice<UInt8>] { bytes.split(separator: Self.slash) }

    /// The last component; nil for one that is not the name of a file, as in `/`, `..` and "".
    public var lastName: Name? { components.last.flatMap { Name(bytes: $0) } }

    /// Without the slashes at its end; those of the root stay.
    public var trimmingTrailingSlashes: Path {
        var bytes = bytes
        while bytes.count > 1, bytes.last == Self.slash { bytes.removeLast() }
        return Path(bytes: bytes)
    }

    /// What stands before the last slash, and behind it; without a slash, `.` and the path. The folder of `/a` is `/`.
    public var split: (folder: Path, last: Path) {
        guard let slash = bytes.lastIndex(of: Self.slash) else { return (".", self) }
        return (Path(bytes: bytes[..<max(slash, 1)]), Path(bytes: bytes[(slash + 1)...]))
    }

    /// The path with one slash at its end: a prefix of the paths below it, and of no others.
    public var asFolder: Path { bytes.last == Self.slash ? self : self + "/" }

    public func hasPrefix(_ prefix: String) -> Bool { bytes.starts(with: prefix.utf8) }

    /// Whether it is a path below a folder.
    public func lies(in folder: Path) -> Bool { bytes.starts(with: folder.asFolder.bytes) }

    /// Whether it is that folder, or a path below it.
    public func isInside(_ folder: Path) -> Bool { self == folder || lies(in: folder) }
}

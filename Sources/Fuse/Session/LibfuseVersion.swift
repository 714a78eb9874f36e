import CFuse

/// What the loaded libfuse says of itself.
public enum LibfuseVersion {
    /// Such as "3.14.0".
    public static var text: String { unsafe String(cString: fuse_pkgversion()) }
}

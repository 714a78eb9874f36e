import CFuse

/// The version of the loaded libfuse.
public enum LibfuseVersion {
    /// Such as "3.14.0".
    public static var text: String { unsafe String(cString: fuse_pkgversion()) }
}

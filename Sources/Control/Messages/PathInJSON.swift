import FoundationEssentials
public import Posix

/// A path in JSON, where strings are text: under the path's key the path itself, or its escaped form if it is not
/// UTF-8; then, beside it, the exact bytes in Base64, under the key with the suffix `Base64`.
///
/// So a path that is UTF-8 has one key, and nothing of another one is lost.
public enum PathInJSON {
    public static func text(_ path: Path) -> String { path.text ?? path.printable.text }

    /// Nil for a path that is UTF-8.
    public static func base64(_ path: Path) -> String? {
        path.text == nil ? Data(path.bytes).base64EncodedString() : nil
    }

    public static func pair(_ path: Path) -> (text: String, base64: String?) { (text(path), base64(path)) }

    /// The path that another program has sent. A second key that is not Base64 counts as absent.
    public static func path(_ text: String, _ base64: String?) -> Path {
        base64.flatMap { Data(base64Encoded: $0) }.map { Path(bytes: $0) } ?? Path(text)
    }
}

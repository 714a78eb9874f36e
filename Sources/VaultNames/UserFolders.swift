import Glibc

/// The folders of the user that the environment names.
///
/// Source: XDG Base Directory Specification, which ignores relative paths.
public struct UserFolders: Hashable, Sendable {
    public let home: String
    /// `latchkey` in the user's folder for configuration.
    public let configuration: String
    /// `latchkey` in the user's folder for data.
    public let data: String

    /// - Parameter environment: looks up HOME, XDG_CONFIG_HOME and XDG_DATA_HOME.
    public init(environment: (String) -> String? = variable) {
        func absolute(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        var home = absolute("HOME") ?? "/root"
        while home.count > 1, home.hasSuffix("/") { home.removeLast() }
        self.home = home
        configuration = (absolute("XDG_CONFIG_HOME") ?? home + "/.config") + "/latchkey"
        data = (absolute("XDG_DATA_HOME") ?? home + "/.local/share") + "/latchkey"
    }

    /// The file with the named vaults.
    public var namedVaults: String { configuration + "/config.toml" }

    /// An environment variable of this process.
    public static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// A path from the root without `.`, empty parts and a slash at the end: absolute, or `~/` and a path in the
    /// user's home. Nil for others, and for one with `..`, which leads elsewhere behind a symbolic link.
    public func path(_ text: String) -> String? {
        let whole: String
        if text.hasPrefix("~/") { whole = home + text.dropFirst() } else { whole = text }
        guard whole.hasPrefix("/"), !whole.utf8.contains(0) else { return nil }
        let parts = whole.split(separator: "/").filter { $0 != "." }
        guard !parts.contains("..") else { return nil }
        return "/" + parts.joined(separator: "/")
    }

    /// The path as a user writes it: with `~/` if it lies in the home.
    public func abbreviated(_ path: String) -> String {
        home != "/" && path.hasPrefix(home + "/") ? "~" + path.dropFirst(home.count) : path
    }
}

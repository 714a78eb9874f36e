import Glibc
import Posix
import VaultNames

/// A folder that desktops know by a word: documents, pictures and so on.
///
/// Source: xdg-user-dir(1), user-dirs.dirs(5).
enum KnownFolder {
    private static let words = [
        "desktop", "documents", "downloads", "music", "pictures", "publicshare", "templates", "videos",
    ]

    /// The folder of a word; nil if the word is a path.
    ///
    /// - Throws: if the word may also mean a folder in the working folder.
    static func path(of word: Path) throws(CommandError) -> Path? {
        guard let text = word.text, words.contains(text) else { return nil }
        guard let known = path(named: text) else {
            guard word.access(F_OK) != 0 else { return nil }
            throw CommandError(
                .notFound, "this user has no folder \(text): there is none in \(configuration)",
                try: "the same with the folder's path")
        }
        guard word.access(F_OK) == 0 else { return known }
        let (here, there) = (try? word.resolved(), try? known.resolved())
        if here == there { return known }
        throw CommandError(
            .usage, "\(text) may be \(known), or the folder of that name here; nothing was done",
            try: "the same with \(known.quoted)", "the same with \(("./" + word).quoted)")
    }

    /// The word of a folder; nil if it is none of them.
    static func word(of folder: Path) -> String? {
        words.first { word in (path(named: word)).flatMap { try? $0.resolved() } == folder }
    }

    private static var configuration: Path {
        let folders = UserFolders()
        return Path((UserFolders.variable("XDG_CONFIG_HOME") ?? folders.home + "/.config") + "/user-dirs.dirs")
    }

    /// By the user's configuration, else by the English name in the home, if there is such a folder.
    private static func path(named word: String) -> Path? {
        let home = UserFolders().home
        let key = word == "downloads" ? "DOWNLOAD" : word.uppercased()
        let bytes = (try? Descriptor.open(path: configuration, O_RDONLY).bytes(atMost: 65_536)) ?? []
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0] == "XDG_\(key)_DIR" else { continue }
            let value = parts[1].filter { $0 != "\"" }
            let path = value.hasPrefix("$HOME/") ? home + value.dropFirst(5) : value
            // xdg-user-dirs gives the home itself for a folder that the user does not want.
            return path.hasPrefix("/") && path != home && path != home + "/" ? Path(path) : nil
        }
        let usual = Path(home + "/" + (word == "publicshare" ? "Public" : word.capitalized))
        return usual.access(F_OK) == 0 ? usual : nil
    }
}

extension String {
    fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst() }
}

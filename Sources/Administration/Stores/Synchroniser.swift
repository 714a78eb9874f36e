import Glibc
public import Posix

/// A program that copies a folder between machines, as a mark in it shows.
///
/// Sources: Syncthing, lib/config/folderconfiguration.go (.stfolder); Nextcloud desktop, src/libsync/owncloudpropagator
/// and common/utility.cpp (.sync_*.db); Dropbox help, "the .dropbox.cache folder" (a folder .dropbox is in the home of
/// each of its users); Resilio Sync help, "the .sync folder", which has the file ID; Seafile help, "the .seafile-data
/// folder".
public enum Synchroniser: String, CaseIterable, Sendable {
    case syncthing = "Syncthing"
    case nextcloud = "Nextcloud"
    case dropbox = "Dropbox"
    case resilio = "Resilio Sync"
    case seafile = "Seafile"

    /// The program that copies a folder, or one above it; nil if there is no mark of one.
    ///
    /// - Parameter path: absolute.
    public static func copying(_ path: Path) -> Synchroniser? {
        var folder = path
        // A path has at most PATH_MAX bytes.
        for _ in 0..<4096 {
            if let found = allCases.first(where: { $0.copies(folder) }) { return found }
            let above = folder.split.folder
            guard above != folder, !above.isEmpty else { return nil }
            folder = above
        }
        return nil
    }

    /// A folder that cannot be looked into has no mark.
    private func copies(_ folder: Path) -> Bool {
        func has(_ name: Path) -> Bool { (folder.asFolder + name).access(F_OK) == 0 }
        switch self {
        case .syncthing: return has(".stfolder")
        case .dropbox: return has(".dropbox.cache")
        case .resilio: return has(".sync/ID")
        case .seafile: return has(".seafile-data")
        case .nextcloud:
            let names = (try? Descriptor.open(path: folder, O_RDONLY | O_DIRECTORY).entries().map(\.name.bytes)) ?? []
            return names.contains { name in
                (name.starts(with: ".sync_".utf8) || name.starts(with: "._sync_".utf8))
                    && name.suffix(3).elementsEqual(".db".utf8)
            }
        }
    }
}

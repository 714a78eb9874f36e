import Glibc
public import Posix

/// A program that copies a folder between machines, as a mark in it shows.
///
/// Sources: Syncthing, lib/config/folderconfiguration.go (.stfolder); Nextcloud desktop, src/libsync/owncloudpropagator
/// and common/utility.cpp (.sync_*.db); Dropbox help, "the .dropbox.cache folder"; Resilio Sync help, "the .sync
/// folder"; Seafile help, "the .seafile-data folder".
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
            if let names = try? Descriptor.open(path: folder, O_RDONLY | O_DIRECTORY).entries().map(\.name.bytes),
                let found = allCases.first(where: { program in names.contains { program.marks($0) } })
            {
                return found
            }
            let above = folder.split.folder
            guard above != folder, !above.isEmpty else { return nil }
            folder = above
        }
        return nil
    }

    private func marks(_ name: [UInt8]) -> Bool {
        func isName(_ text: String) -> Bool { name.elementsEqual(text.utf8) }
        return switch self {
        case .syncthing: isName(".stfolder")
        case .nextcloud:
            (name.starts(with: ".sync_".utf8) || name.starts(with: "._sync_".utf8))
                && name.suffix(3).elementsEqual(".db".utf8)
        case .dropbox: isName(".dropbox") || isName(".dropbox.cache")
        case .resilio: isName(".sync")
        case .seafile: isName(".seafile-data")
        }
    }
}

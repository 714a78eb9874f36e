import Format
import Glibc
import Posix

/// A path in the journal, from the vault's root: its components lead down, and never out of the vault.
///
/// The journal's MAC says who wrote the path, not that it is sane: the maker of the vault, who may be an attacker,
/// knows the key.
struct BackingPath {
    /// Empty for the root itself.
    let names: [Name]

    /// Nil for an absolute path, for one with an empty component, `.` or `..`, and for one that ends in a name that the
    /// vault keeps for itself, such as its keybag.
    init?(_ bytes: [UInt8]) {
        guard bytes.count < Int(PATH_MAX) else { return nil }
        guard !bytes.isEmpty else {
            names = []
            return
        }
        var names: [Name] = []
        for component in bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let name = Name(bytes: component) else { return nil }
            names.append(name)
        }
        if let last = names.last, BackingName(last.bytes) == .reserved { return nil }
        self.names = names
    }
}

/// The contents of a *tombstone* record: both names are single components, so that they stay in their folder.
struct TombstoneNames {
    let folder: BackingPath
    let tombstone: Name
    let name: Name

    /// Nil if a name is not valid, or not one that such a directory can have.
    init?(decoding payload: [UInt8]) {
        guard let note = try? TombstoneNote(decoding: payload), let folder = BackingPath(note.path),
            let tombstone = Name(bytes: note.tombstone), let name = Name(bytes: note.name),
            BackingName(tombstone.bytes) == .temporary
        else { return nil }
        switch BackingName(name.bytes) {
        case .entry, .longEntry: break
        case .reserved, .temporary, .sidecar, .foreign: return nil
        }
        (self.folder, self.tombstone, self.name) = (folder, tombstone, name)
    }
}

extension RecoveryJournal {
    /// How many records have a path or a name that is none of the vault's. Replay ignores them.
    package func strays(in entries: [Entry]) throws(VaultError) -> Int {
        var count = 0
        for entry in entries {
            let isStray =
                switch entry.record.kind {
                case .tombstone: TombstoneNames(decoding: try payload(of: entry)) == nil
                case .file, .duplicate: try note(of: entry) == nil
                case .block, .blocks, .header, .forget, .hole: false
                }
            if isStray { count += 1 }
        }
        return count
    }
}

import Format
import Glibc
import Posix
import Store

// The journal finds files by their paths: it is told of those that change.

/// Something that gets another name, by its paths from the vault's root.
struct PathChange {
    let old: [UInt8]
    /// Nil where it cannot be told.
    let new: [UInt8]?
    /// With all that lies within.
    let isFolder: Bool

    func concerns(_ path: [UInt8]) -> Bool {
        guard isFolder else { return path == old }
        return path.count > old.count && path[old.count] == UInt8(ascii: "/") && path.starts(with: old)
    }

    /// What becomes of a path that it concerns; empty where that cannot be told.
    func applied(to path: [UInt8]) -> [UInt8] {
        let path = new.map { $0 + path.dropFirst(old.count) } ?? []
        return path.count >= Int(PATH_MAX) ? [] : path
    }
}

extension Vault {
    /// Nil where the old path cannot be told: then nothing knows it, and neither what lies within.
    func change(
        of name: Name, in parent: Directory, to newName: Name, in newParent: Directory, isFolder: Bool
    ) -> PathChange? {
        path(of: name, in: parent).map {
            PathChange(old: $0, new: path(of: newName, in: newParent), isFolder: isFolder)
        }
    }

    private func path(of name: Name, in parent: Directory) -> [UInt8]? {
        if parent.descriptor === store.root { return name.bytes }
        guard let path = try? store.path(of: parent.descriptor) else { return nil }
        return path + [UInt8(ascii: "/")] + name.bytes
    }

    /// Runs `body`, which gives folders or files other names, once the journal knows under what paths its files are
    /// found then. They may be written to at any time.
    ///
    /// - Parameter changes: nil if they cannot be told.
    func keepingIntents(
        _ changes: () -> [PathChange]?, _ body: () throws(VaultError) -> Void
    ) throws(VaultError) {
        var most = 16
        let bound = Int(halfSize / Journal.roomForFile / 2)
        var isDone = false
        while !isDone {
            let room = UInt64(most) * Journal.roomForFile
            try makeRoom(room)
            defer { giveBackRoom(room) }
            isDone = try paths.withExclusive { () throws(VaultError) in
                guard let changes = changes() else {
                    try body()
                    return true
                }
                let isNoted = try backing { () throws(Errno) in
                    let journal = try openJournal()
                    var pending: [(file: FileIdentity, intent: Journal.Intent, path: [UInt8])] = []
                    for change in changes {
                        pending += journal.intents(under: change).map {
                            ($0.key, $0.value, change.applied(to: $0.value.path))
                        }
                    }
                    guard pending.count <= most else {
                        // Those who write to these do not wait for this.
                        most = min(bound, 2 * pending.count)
                        return false
                    }
                    // Without a path a file is found by its header.
                    guard pending.allSatisfy({ $0.intent.low > 0 || !$0.path.isEmpty }) else { return false }
                    for (file, intent, path) in pending {
                        _ = try journal.append(Journal.Intent(path: path, low: intent.low, high: intent.high), of: file)
                    }
                    if !pending.isEmpty { try journal.flush() }
                    return true
                }
                if isNoted { try body() }
                return isNoted
            }
            if !isDone {
                try checkpoint()
                try releaseCheckpointed()
            }
        }
    }
}

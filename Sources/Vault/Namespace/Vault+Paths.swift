import Format
import Glibc
import Posix
import Store

// The journal finds files by path, so it is told when paths change.

/// A change of name, as paths from the vault's root.
struct PathChange {
    let old: [UInt8]
    /// Nil if it cannot be found out.
    let new: [UInt8]?
    /// The change concerns all paths within it.
    let isFolder: Bool

    func concerns(_ path: [UInt8]) -> Bool {
        guard isFolder else { return path == old }
        return path.count > old.count && path[old.count] == UInt8(ascii: "/") && path.starts(with: old)
    }

    /// A path that this change concerns, after the change. Empty if that cannot be found out.
    func applied(to path: [UInt8]) -> [UInt8] {
        let path = new.map { $0 + path.dropFirst(old.count) } ?? []
        return path.count >= Int(PATH_MAX) ? [] : path
    }
}

extension Vault {
    /// Nil if the old path cannot be found out: then the journal knows neither that path nor any within it.
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

    /// Runs `body`, which renames folders or files, after the journal has recorded the new paths of the files that it
    /// knows. Those may be written to at any time.
    ///
    /// - Parameter changes: returns nil if the changes cannot be found out.
    func keepingIntents(
        _ changes: () -> [PathChange]?, _ body: () throws(VaultError) -> Void
    ) throws(VaultError) {
        var most = 16
        let bound = Int(options.journalSize.part / Journal.roomForFile / 2)
        var isDone = false
        while !isDone {
            let room = UInt64(most) * Journal.roomForFile
            try makeRoom(room)
            defer { giveBackRoom(room) }
            isDone = try order.paths.withExclusive { () throws(VaultError) in
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
                        // Writers to these files do not wait for this function, so the number may grow.
                        most = min(bound, 2 * pending.count)
                        return false
                    }
                    // Replay finds a file without a path by its header, so it must have a durable one.
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

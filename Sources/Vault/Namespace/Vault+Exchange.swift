import Format
import Posix
import Store

/// One of the two entries of an exchange.
public struct Exchanged: Sendable {
    let name: Name
    let parent: Directory
    let moved: Moved

    /// - Parameter moved: the entry, opened as for a rename.
    public init(_ name: Name, in parent: Directory, _ moved: Moved) {
        self.name = name
        self.parent = parent
        self.moved = moved
    }
}

extension Vault {
    /// Exchanges the names of two entries, atomically. Each keeps its class: neither replaces the other.
    ///
    /// Source: renameat2(2), RENAME_EXCHANGE.
    public func exchange(_ first: Exchanged, _ second: Exchanged) throws(VaultError) {
        for end in [first, second] { try end.parent.refuseStale() }
        let ends = [first, second].map { ConcurrentRenames.Renamed(name: $0.name, parent: $0.parent) }
        try order.renames.noting(ends) { () throws(VaultError) in try exchangeEntries(first, second) }
    }

    private func exchangeEntries(_ first: Exchanged, _ second: Exchanged) throws(VaultError) {
        let stored = (try storedName(first.name, in: first.parent), try storedName(second.name, in: second.parent))
        let folders = [first.parent.descriptor, second.parent.descriptor]
        let files = [first.moved, second.moved].compactMap { if case .file(let file) = $0 { file } else { nil } }
        func perform() throws(VaultError) {
            try backing { () throws(Errno) in
                try store.rename(
                    stored.0.name, in: folders[0], to: stored.1.name, in: folders[1], flags: RENAME_EXCHANGE)
            }
        }
        let hasFolder = [first.moved, second.moved].contains { if case .directory = $0 { true } else { false } }
        // Each path that changes needs a record in the journal: after a checkpoint it knows fewer files.
        if hasFolder { try checkpoint() }
        let moves = try beginMoves(first, second, stored.0.name, stored.1.name)
        do throws(VaultError) {
            if !hasFolder {
                try File.withoutIntents(on: files) { () throws(VaultError) in
                    try perform()
                    leave(first, for: second, folders)
                    leave(second, for: first, folders)
                }
            } else {
                let changes = { () -> [PathChange]? in
                    let changes = [
                        self.change(of: stored.0.name, first, to: stored.1.name, second),
                        self.change(of: stored.1.name, second, to: stored.0.name, first),
                    ].compactMap { $0 }
                    return changes.isEmpty ? nil : changes
                }
                try keepingIntents(changes, perform)
                for (one, other) in [(first, second), (second, first)] {
                    guard case .file(let file) = one.moved else { continue }
                    file.lock.withExclusive { leave(one, for: other, folders) }
                }
            }
        } catch {
            for move in moves { move() }
            throw error
        }
        for (one, other, name) in [(first, second, stored.0.name), (second, first, stored.1.name)] {
            guard case .directory(let directory) = one.moved else { continue }
            self.files.forgetFolder(name, in: one.parent)
            didMove(directory, to: binding(of: other.name, in: other.parent))
            finishMove(of: directory, in: folders)
        }
    }

    /// Adds to each entry the binding of the other one's name, durably. Returns what takes that back.
    private func beginMoves(
        _ first: Exchanged, _ second: Exchanged, _ firstName: Name, _ secondName: Name
    ) throws(VaultError) -> [() -> Void] {
        // Read before anything is written: a copy may have seen this time under the entry's new name.
        let times = (
            (try? store.status(of: firstName, in: first.parent.descriptor)).map(timeSeen),
            (try? store.status(of: secondName, in: second.parent.descriptor)).map(timeSeen)
        )
        var undone: [() -> Void] = []
        do throws(VaultError) {
            for (one, other, time) in [(first, second, times.1), (second, first, times.0)] {
                let binding = binding(of: other.name, in: other.parent)
                switch one.moved {
                case .file(let file):
                    let move = try file.beginMove(
                        to: binding, in: other.parent.identifier, taking: nil, replacing: time ?? .now, isRename: true)
                    undone.append { try? file.cancelMove(move) }
                case .directory(let directory):
                    try beginMove(of: directory, to: binding)
                    undone.append { self.cancelMove(of: directory) }
                case .other: break
                }
            }
        } catch {
            for undo in undone { undo() }
            throw error
        }
        return undone
    }

    /// Needs the file's lock exclusively.
    private func leave(_ one: Exchanged, for other: Exchanged, _ folders: [Descriptor]) {
        guard case .file(let file) = one.moved else { return }
        let (old, new) = (binding(of: one.name, in: one.parent), binding(of: other.name, in: other.parent))
        file.leave(old, for: new, folders)
        file.noteMove(from: old, to: new)
    }

    private func change(of name: Name, _ one: Exchanged, to newName: Name, _ other: Exchanged) -> PathChange? {
        let isFolder: Bool
        switch one.moved {
        case .directory: isFolder = true
        case .file: isFolder = false
        case .other: return nil
        }
        return change(of: name, in: one.parent, to: newName, in: other.parent, isFolder: isFolder)
    }
}

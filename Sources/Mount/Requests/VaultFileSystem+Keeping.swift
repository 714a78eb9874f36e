import Vault

// In a synchronised vault, a folder keeps its record as long as one machine changes something in it: docs/SHARED.md.

extension VaultFileSystem {
    /// Call it before an entry is changed. Needs `tree`.
    func keep(_ node: Node) {
        guard vault.takesTurns, let location = node.latestName else { return }
        keepRecord(at: location)
    }

    /// Call it before an entry is made or replaced. Needs `tree`.
    func keep(_ location: Location) {
        guard vault.takesTurns else { return }
        if let directory = try? directory(of: location.parent) { vault.removeShell(location.name, in: directory) }
        keepRecord(at: location)
    }

    /// Call it after contents were changed, some time after the file was opened.
    func noteChange(of node: Node) {
        guard let changedFolders, let location = node.latestName else { return }
        changedFolders.note(location.parent)
    }

    /// The copies that are to follow changes are written now.
    func renewCopies() {
        if let changedFolders { renewCopies(of: changedFolders.take()) }
    }

    /// Writes this machine's copies of the records of folders anew, and of those above them.
    func renewCopies(of folders: [Node]) {
        var done: Set<ObjectIdentifier> = []
        for folder in folders {
            var next: Node? = folder
            while let node = next, done.insert(ObjectIdentifier(node)).inserted {
                next = tree.withShared {
                    renewCopy(of: node)
                    return node.latestName?.parent
                }
            }
        }
    }

    private func renewCopy(of folder: Node) {
        // Nothing changes in the vault's folder until the mount is writable again.
        guard !keepsStill.load(ordering: .acquiring) else { return changedFolders?.note(folder) ?? () }
        do throws(VaultError) { try vault.renewCopy(of: try directory(of: folder)) } catch {
            // A folder that is gone needs none.
            guard !error.isAbsence, error != .system(.ESTALE) else { return }
            changedFolders?.note(folder)
            tellOfKeeping(error)
        }
    }

    private func tellOfKeeping(_ error: VaultError) {
        guard !hasToldOfKeeping.exchange(true, ordering: .relaxed) else { return }
        log(.keepingFailed(error))
    }

    private func keepRecord(at location: Location) {
        guard vault.takesTurns else { return }
        changedFolders?.note(location.parent)
        var location = location
        while true {
            do throws(VaultError) {
                let isKept = try vault.keep(try directory(of: location.parent), changing: location.name)
                // Then so are the folders above it.
                guard !isKept, let next = location.parent.latestName else { return }
                location = next
            } catch {
                // The change itself is none of another machine's business, and must not fail by this.
                return tellOfKeeping(error)
            }
        }
    }
}

extension MountEvent {
    static func keepingFailed(_ error: VaultError) -> MountEvent {
        .trouble("a folder has no copy of its record that other machines would keep: \(error)")
    }
}

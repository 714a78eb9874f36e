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

    private func keepRecord(at location: Location) {
        guard vault.takesTurns else { return }
        var location = location
        while true {
            do throws(VaultError) {
                let isKept = try vault.keep(try directory(of: location.parent), changing: location.name)
                // Then so are the folders above it.
                guard !isKept, let next = location.parent.latestName else { return }
                location = next
            } catch {
                // The change itself is none of another machine's business, and must not fail by this.
                guard !hasToldOfKeeping.exchange(true, ordering: .relaxed) else { return }
                return log(
                    .trouble("a folder has no copy of its record that other machines would keep: \(error)"))
            }
        }
    }
}

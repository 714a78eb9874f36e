import Format
import Posix
import Store
import Synchronization
import Vault

// Sidecars of attributes: docs/FORMAT.md, "Sidecars of attributes". Those of owners that are there are checked with
// them.

/// The sidecars whose owners a check has not seen yet. Thread-safe.
final class UnclaimedSidecars: Sendable {
    private struct State {
        var owners: Set<[UInt8]> = []
        /// Files that became no sidecar.
        var temporary: [Name] = []
    }

    private let state = Mutex(State())
    private let isEmpty = Atomic(true)

    /// Notes what is in the folder of sidecars.
    func list(_ names: [Name]) {
        state.withLock { state in
            for name in names {
                if let owner = BackingName.attributesOwner(name.bytes) {
                    state.owners.insert(owner)
                } else if BackingName(name.bytes) == .temporary {
                    state.temporary.append(name)
                }
            }
            isEmpty.store(state.owners.isEmpty, ordering: .releasing)
        }
    }

    func claim<Kind>(_ owner: Identifier<Kind>) {
        guard !isEmpty.load(ordering: .acquiring) else { return }
        state.withLock { _ = $0.owners.remove(owner.bytes) }
    }

    var owners: [Name] { state.withLock { $0.owners.map { Name.attributes(of: $0) } } }
    var temporary: [Name] { state.withLock { $0.temporary } }
}

extension Check {
    /// Lists the sidecars, before the walk.
    func listSidecars() {
        do throws(VaultError) {
            guard let folder = try vault.openAttributes() else { return }
            unclaimed.list(try vault.backingEntries(of: folder).map(\.name))
        } catch {
            let spot = Spot(treePath: .root, stored: .attributes)
            report(Finding(error, .attribute, "the sidecars of attributes cannot be listed", at: spot))
        }
    }

    /// Reports sidecars whose owners are gone, but only if the walk has seen every file and folder: an owner may lie in
    /// a folder that is damaged, foreign, without a record since a crash, or not readable.
    func checkSidecars() {
        guard hasSeenAll else { return }
        func report(_ kind: Finding.Kind, _ name: Name, _ reason: Printable) {
            var finding = Finding(.orphan, kind, at: Spot(treePath: .root, stored: name), reason: reason)
            finding.backingPath = Array(BackingName.attributes.utf8) + [UInt8(ascii: "/")] + name.bytes
            self.report(finding)
        }
        for name in unclaimed.temporary { report(.temporary, name, "what an interrupted operation left") }
        for name in unclaimed.owners.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
            report(.sidecar, name, "the attributes of a file or folder that is gone")
        }
    }
}

extension AttributeSubject {
    /// The path of its sidecar from the vault's folder on; nil for a node.
    var sidecarPath: String? {
        guard let owner else { return nil }
        return "\(BackingName.attributes)/\(Name.attributes(of: owner))"
    }
}

import Format
import Fuse
import Posix
import Sharing
import Synchronization
import Vault

/// What this machine has in memory under its leases: which nodes each concerns, and which names of a folder are known.
///
/// Thread-safe. `adopt`, `settle` and `forget` are called while no request uses the object.
final class SharedNodes: Sendable {
    let leases: Leases
    let sharing: VaultSharing
    private let notifier: @Sendable () -> Notifier?
    private let vaultFileSystem = Mutex<Weak?>(nil)
    private let canTellKernel = Atomic(false)

    private struct Weak: Sendable { weak var fileSystem: VaultFileSystem? }

    fileprivate struct State {
        var nodes: [LeaseObject: Set<NodeID>] = [:]
        var names: [LeaseObject: [Name: KnownName]] = [:]
        var nameCount = 0
    }

    /// What a name in a folder leads to.
    enum KnownName {
        /// Something with a lease of its own.
        case object(LeaseObject)
        /// Something that the folder's lease covers.
        case covered
        case nothing

        var isNothing: Bool { if case .nothing = self { true } else { false } }
    }
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())
    fileprivate static let mostNames = 200_000

    init(_ sharing: VaultSharing, _ notifier: @escaping @Sendable () -> Notifier?) {
        self.sharing = sharing
        self.notifier = notifier
        leases = sharing.leases
    }

    func serve(_ fileSystem: VaultFileSystem) { vaultFileSystem.withLock { $0 = Weak(fileSystem: fileSystem) } }

    private var fileSystem: VaultFileSystem? { vaultFileSystem.withLock { $0?.fileSystem } }

    /// Whether the kernel can be told, without its locks, that it has to ask again.
    var tellsKernel: Bool { canTellKernel.load(ordering: .relaxed) }
    func tellKernel(_ can: Bool) { canTellKernel.store(can, ordering: .relaxed) }

    // MARK: What is known

    /// The object whose lease covers a node: its own, or the folder's of what is found by its name alone. Nil for one
    /// of those without a name.
    static func object(of node: Node) -> LeaseObject? {
        switch node.identity {
        case .file, .directory: LeaseObject(fingerprint: node.identity.fingerprint)
        case .other: node.latestName.map { LeaseObject(fingerprint: $0.parent.identity.fingerprint) }
        }
    }

    /// A name was found to lead to a node. Needs a lease of the folder.
    func note(_ node: Node, at location: Location) {
        guard let object = Self.object(of: node), let folder = Self.object(of: location.parent) else { return }
        let own = node.hasOwnLease ? object : nil
        state.withLock { state in
            if own != nil { state.nodes[object, default: []].insert(node.id) }
            state.nodes[folder, default: []].insert(location.parent.id)
            state.note(own.map { .object($0) } ?? .covered, location.name, in: folder)
        }
    }

    /// What was found under a name. Needs a lease of the folder.
    func note(_ known: KnownName, _ name: Name, in folder: LeaseObject) {
        state.withLock { $0.note(known, name, in: folder) }
    }

    /// A node's object is about to be used.
    func note(_ node: Node) {
        guard node.hasOwnLease, let object = Self.object(of: node) else { return }
        state.withLock { state in
            if state.nodes[object]?.contains(node.id) != true { state.nodes[object, default: []].insert(node.id) }
        }
    }

    /// What a name leads to; nil if that is not known. Needs a lease of the folder.
    func known(_ name: Name, in folder: LeaseObject) -> KnownName? { state.withLock { $0.names[folder]?[name] } }

    /// A name leads to nothing, or to something else.
    func forget(_ name: Name, in folder: LeaseObject) {
        state.withLock { state in
            if state.names[folder]?.removeValue(forKey: name) != nil { state.nameCount -= 1 }
        }
    }

    /// Whether this machine has a write lease of a node's object.
    func mayChange(_ node: Node) -> Bool { Self.object(of: node).map { leases.held($0) == .write } ?? false }

    /// A file was made. Other machines cannot find it yet: the lease of its folder is in use, or it has no name.
    func made(_ node: Node, at location: Location?) {
        if let location { note(node, at: location) } else { note(node) }
        guard let object = Self.object(of: node) else { return }
        do throws(Errno) { try leases.begin(object) } catch {
            // What is in memory of it must not stay there alone.
            try? fileSystem?.vault.settle(object)
        }
    }
}

extension SharedNodes.State {
    fileprivate mutating func note(_ known: SharedNodes.KnownName, _ name: Name, in folder: LeaseObject) {
        if nameCount >= SharedNodes.mostNames { (names, nameCount) = ([:], 0) }
        if names[folder, default: [:]].updateValue(known, forKey: name) == nil { nameCount += 1 }
    }
}

extension Node {
    /// Whether it has an ID, by which machines know it.
    var hasOwnLease: Bool {
        switch identity {
        case .file, .directory: true
        case .other: false
        }
    }
}

extension SharedNodes: SharedObjects {
    private func nodes(of object: LeaseObject) -> [Node] {
        guard let fileSystem else { return [] }
        return state.withLock { $0.nodes[object] ?? [] }.compactMap { fileSystem.nodes[$0] }
    }

    func adopt(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) {
        guard let fileSystem else { return }
        do throws(VaultError) {
            try fileSystem.vault.reload(object)
            for node in nodes(of: object) {
                dropMemory(of: node, fileSystem)
                guard let directory = node.state.withLock({ $0.directory }) else { continue }
                if try !fileSystem.vault.reload(directory) { node.state.withLock { $0.directory = nil } }
            }
        } catch { throw error.errno }
    }

    func settle(_ object: LeaseObject) throws(Errno) {
        guard let fileSystem else { return }
        do throws(VaultError) {
            try fileSystem.vault.settle(object)
            for node in nodes(of: object) {
                if let directory = node.state.withLock({ $0.directory }) { try fileSystem.vault.settle(directory) }
            }
        } catch { throw error.errno }
    }

    func forget(_ object: LeaseObject) {
        guard let fileSystem else { return }
        let nodes = nodes(of: object)
        let hadNames = state.withLock { state in
            let names = state.names.removeValue(forKey: object)
            state.nameCount -= names?.count ?? 0
            state.nodes[object] = nil
            return names != nil
        }
        for node in nodes { dropMemory(of: node, fileSystem) }
        guard tellsKernel, let notifier = notifier() else { return }
        // For neither does the kernel take a lock. Any error means that it keeps nothing.
        for node in nodes { try? notifier.invalidate(node.id, offset: -1) }
        if hadNames { try? notifier.expireAllEntries() }
    }

    private func dropMemory(of node: Node, _ fileSystem: VaultFileSystem) {
        fileSystem.nodes.update(node) { state in
            if state.file == nil { (state.closed, state.seen) = (nil, nil) }
        }
    }
}

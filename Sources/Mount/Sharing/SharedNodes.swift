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

    private struct State {
        var nodes: [LeaseObject: Set<NodeID>] = [:]
        var names = KnownNames()
    }
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())

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

    /// A node was found in a folder. Needs a lease of the folder.
    func note(_ node: Node, in folder: Node) {
        note(node)
        note(folder)
    }

    /// A node's object is about to be used.
    func note(_ node: Node) {
        guard node.hasOwnLease, let object = Self.object(of: node) else { return }
        state.withLock { state in
            if state.nodes[object]?.contains(node.id) != true { state.nodes[object, default: []].insert(node.id) }
        }
    }

    /// Runs `body` with what is known of names. It must not call this object.
    func withNames<Result: Sendable>(_ body: (inout KnownNames) -> Result) -> Result {
        state.withLock { body(&$0.names) }
    }

    /// Whether this machine has a lease of a node's object, so that the kernel will be told when that ends.
    func isHeld(_ node: Node) -> Bool {
        node.hasOwnLease && Self.object(of: node).map { leases.held($0) != nil } ?? false
    }

    /// Whether this machine has a write lease of a node's object.
    func mayChange(_ node: Node) -> Bool { Self.object(of: node).map { leases.held($0) == .write } ?? false }

    /// A file was made. Other machines cannot find it yet: the lease of its folder is in use, or it has no name.
    func made(_ node: Node, at location: Location?) {
        note(node)
        guard let object = Self.object(of: node) else { return }
        if let location, let folder = Self.object(of: location.parent) {
            note(location.parent)
            withNames { $0.didMake(.object(object), location.name, in: folder) }
        }
        do throws(Errno) { try leases.begin(object) } catch {
            // What is in memory of it must not stay there alone: without a lease, nothing would bring it into place.
            do throws(VaultError) { try fileSystem?.vault.settle(object) } catch {
                fileSystem?.log(.trouble("a new file cannot be brought into place: \(error)"))
            }
        }
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
        state.withLock { state in
            state.names.forget(object)
            state.nodes[object] = nil
        }
        for node in nodes { dropMemory(of: node, fileSystem) }
        guard tellsKernel, let notifier = notifier() else { return }
        do throws(Errno) {
            // For neither does the kernel take a lock.
            for node in nodes { try notifier.invalidate(node.id, offset: -1) }
            if nodes.contains(where: \.isDirectory) { try notifier.expireAllEntries() }
        } catch {
            tellKernel(false)
            fileSystem.log(.trouble("cannot make the kernel forget what another machine may change: \(error)"))
        }
    }

    private func dropMemory(of node: Node, _ fileSystem: VaultFileSystem) {
        fileSystem.nodes.update(node) { state in
            if state.file == nil { (state.closed, state.seen) = (nil, nil) }
        }
    }
}

import Format
import Fuse
import Glibc
import Posix
import Synchronization
import Vault

/// A vault as the kernel sees it: names become nodes, nodes become files and directories of the vault, and each access
/// to contents passes the gate of its class.
///
/// Lock order: `tree`, a class's gate, a node's state (a child's before its parent's), a `File`'s lock. The table's
/// lock comes last.
final class VaultFileSystem: Sendable {
    let vault: Vault
    let nodes: NodeTable
    let gates: ClassGates
    let buffers = PlainBufferPool()
    let directories: DirectoryCache
    let listings = ListingTable()
    let shares: HandleShares
    let late: LateRequests
    let parked: ParkedRequests
    /// Shared by whoever finds its way from a node to the backing folder by names; exclusive while a directory moves,
    /// or what is known by its name alone loses that.
    let tree = ReadWriteLock()
    /// Not mounted with noatime.
    let keepsAccessTimes: Bool
    /// The kernel judges by access control lists.
    let enforcesLists: Bool
    /// Why a file or folder may not be given a class; nil if it may.
    let forbidden: @Sendable (ProtectionClass) -> String?
    let log: @Sendable (MountEvent) -> Void

    /// Seconds for which the kernel may answer lookups and stat(2) itself. The vault's files are changed through
    /// this mount only, but a sync program may bring new ones.
    static let timeout = 1.0

    init(
        vault: Vault, descriptorLimit: Int, keepsAccessTimes: Bool, enforcesLists: Bool, whenLocked: WhenLocked,
        forbidden: @escaping @Sendable (ProtectionClass) -> String?,
        notifier: @escaping @Sendable () -> Notifier?,
        log: @escaping @Sendable (MountEvent) -> Void
    ) throws(VaultError) {
        self.vault = vault
        self.log = log
        self.forbidden = forbidden
        self.keepsAccessTimes = keepsAccessTimes
        self.enforcesLists = enforcesLists
        let root = try vault.openRoot()
        let node = Node(
            id: .root, backing: BackingInode(try vault.status(of: root)), identity: .directory(root.identifier))
        node.state.withLock { $0.directory = root }
        nodes = NodeTable(root: node)
        gates = ClassGates(servesReads: whenLocked.isFreeze) { vault.canOpen($0) }
        do { parked = try ParkedRequests(whenLocked) } catch { throw .system(error) }
        directories = DirectoryCache(limit: descriptorLimit / 8, nodes: nodes)
        shares = HandleShares(owner: geteuid(), descriptorLimit: descriptorLimit)
        late = LateRequests(notifier: notifier)
        // Two generations of them for a moment, and folders that they were in: half of all is left for files that are
        // open.
        vault.mostDirtyFiles = descriptorLimit / 8
        // The kernel's pages of a file that is closed stay good when the vault brings its backing file up to date.
        vault.observeCheckpoints { [nodes] status, header in
            guard let node = nodes[BackingInode(status)], node.identity == .file(header.file) else { return }
            _ = node.state.withLockIfAvailable { state in
                if state.file == nil, state.closed != nil { state.closed = Node.ClosedFile(header) }
            }
        }
    }

    /// The node of a number that the kernel uses.
    func node(_ id: NodeID) throws(VaultError) -> Node {
        guard let node = nodes[id] else { throw .system(.ESTALE) }
        return node
    }

    /// Runs a handler; what it throws is the answer, and damage is logged with the place where it was met.
    func log(_ error: VaultError, at node: Node?, _ name: Name? = nil) {
        guard case .damaged(let reason) = error else { return }
        log(.damage(path: path(of: node, name), reason: reason))
    }

    /// A path for people, from the mount's root.
    func path(of node: Node?, _ name: Name? = nil) -> Printable {
        var parts: [Printable] = name.map { ["\($0)"] } ?? []
        var current = node
        while let node = current, let location = node.latestName {
            parts.append("\(location.name)")
            current = location.parent
        }
        return "/" + parts.reversed().joined(separator: "/")
    }
}

extension VaultFileSystem: FileSystem {
    func initialized(_ connection: Connection) {}

    func interrupted() { parked.interrupted() }

    /// What is still open was closed by nobody: its length is written, and all keys go with the process.
    func destroyed() {
        parked.close()
        for node in nodes.open {
            guard let file = node.state.withLock({ $0.file?.file }) else { continue }
            do {
                try file.persistLength()
            } catch {
                log(.lost(path: path(of: node), reason: "\(error)"))
            }
            file.dropKey()
        }
    }
}

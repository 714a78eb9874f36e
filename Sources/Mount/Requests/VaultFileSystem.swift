import Format
import Fuse
import Glibc
import Posix
import Synchronization
import Vault

/// A vault as the kernel sees it: names become nodes, nodes become files and directories of the vault, and each access
/// to contents passes the gate of its class.
final class VaultFileSystem: Sendable {
    let vault: Vault
    let nodes: NodeTable
    let gates: ClassGates
    let buffers = PlainBufferPool()
    let directories: DirectoryCache
    let watched: WatchedFolders
    let listings = ListingTable()
    let shares: HandleShares
    let late: LateRequests
    let parked: ParkedRequests
    /// Shared by requests that go from a node to its backing file by names; exclusive while a directory moves, or while
    /// an object that is found by its name alone loses a name. Lock order: docs/ARCHITECTURE.md.
    let tree = ReadWriteLock()
    /// Looks for nodes that the kernel knows by a file handle alone.
    let handles = WorkQueue()
    let parents = ParentIndex()
    /// The session has ended: nothing is looked for any more.
    let isEnding = Atomic(false)
    /// How many names have come or moved: a walk through the vault may have missed them.
    let moves = Atomic(0)
    /// The mount has no noatime option.
    let keepsAccessTimes: Bool
    /// The mount was remounted read-only: access times are not kept, and no file gets new keys.
    let keepsStill = Atomic(false)
    /// As `keepsStill`, and all that was written before lies in the vault's folder.
    let isStill = Atomic(false)
    /// The kernel enforces access control lists.
    let enforcesLists: Bool
    /// Why a file or folder may not be given a class; nil if it may.
    let forbidden: @Sendable (ProtectionClass) -> String?
    let log: @Sendable (MountEvent) -> Void
    let refusals = RefusalRecord()
    let staleNotice = StaleNotice()
    /// The log has it that something of another machine cannot be taken in.
    let hasToldOfTakingIn = Atomic(false)
    /// The log has it that a folder's record cannot be kept.
    let hasToldOfKeeping = Atomic(false)
    /// Nil if no other machine changes a copy of the vault, or this one changes nothing.
    let changedFolders: ChangedFolders?

    /// Seconds for which the kernel may answer lookups and stat(2) itself. Programs change the vault through this mount
    /// only, but a sync program may bring new files into the backing folder.
    static let timeout = 1.0
    /// The same of this mount. Where other machines change the vault meanwhile, the kernel keeps nothing that it cannot
    /// be told of.
    var timeout: Double { shared.map(\.tellsKernel) ?? true ? Self.timeout : 0 }
    /// As `timeout`, where that would be noticed: docs/ARCHITECTURE.md, "What the kernel keeps".
    ///
    /// Not longer: a change by a name outside of the vault's folder, or by a program that keeps the file open, is
    /// told by nothing.
    static let watchedTimeout = 60.0
    /// What this machine knows under leases; nil if no other machine works in the vault meanwhile.
    let shared: SharedNodes?

    /// Before an entry is read: passed to `instantiate`, which then knows whether the kernel may keep the answer.
    var moment: Int? { shared.map { $0.tellsKernel ? 0 : nil } ?? watched.moment }

    init(
        vault: Vault, shared: VaultSharing? = nil, descriptorLimit: Int, watch: FolderWatch?, keepsAccessTimes: Bool,
        enforcesLists: Bool,
        whenLocked: WhenLocked,
        forbidden: @escaping @Sendable (ProtectionClass) -> String?,
        notifier: @escaping @Sendable () -> Notifier?,
        log: @escaping @Sendable (MountEvent) -> Void
    ) throws(VaultError) {
        self.vault = vault
        self.log = log
        self.shared = shared.map { SharedNodes($0, notifier) }
        do throws(Errno) {
            changedFolders = vault.takesTurns && !vault.isReadOnly ? try ChangedFolders() : nil
        } catch { throw .system(error) }
        self.forbidden = forbidden
        self.keepsAccessTimes = keepsAccessTimes
        self.enforcesLists = enforcesLists
        let root = try vault.openRoot()
        if let failure = vault.settleFolders(below: root) { log(.keepingFailed(failure)) }
        vault.lookForCopy(from: root)
        let node = Node(
            root: BackingInode(try vault.status(of: root)), identity: .directory(root.identifier))
        let watched: WatchedFolders
        do { watched = try WatchedFolders(watch, device: node.backing.device) } catch { throw .system(error) }
        self.watched = watched
        node.state.withLock { state in
            state.isWatched = watched.add(root, node.backing)
            state.directory = root
        }
        nodes = NodeTable(root: node, keepsInodeNumbers: vault.traits.keepsInodeNumbers)
        gates = ClassGates(servesReads: whenLocked.isFreeze) { vault.canOpen($0) }
        do { parked = try ParkedRequests(whenLocked) } catch { throw .system(error) }
        directories = DirectoryCache(limit: descriptorLimit / 8, nodes: nodes)
        shares = HandleShares(owner: geteuid(), descriptorLimit: descriptorLimit)
        late = LateRequests(notifier: notifier)
        // For a moment there may be two generations of dirty files, and their folders. So half of the descriptors is
        // left for open files.
        vault.mostDirtyFiles = descriptorLimit / 8
        // The kernel's pages of a closed file stay valid when a checkpoint changes its backing file.
        vault.observeCheckpoints { [nodes] status, header in
            guard let node = nodes[BackingInode(status)], node.identity == .file(header.file) else { return }
            _ = node.state.withLockIfAvailable { state in
                if state.file == nil, state.closed != nil { state.closed = Node.ClosedFile(header) }
            }
        }
    }

    /// The node for a number of the kernel's.
    func node(_ id: NodeID) throws(VaultError) -> Node {
        guard let node = nodes[id] else { throw .system(.ESTALE) }
        return node
    }

    /// Logs and records damage and unseen changes, with the path where it was found; does nothing for other errors.
    func log(_ error: VaultError, at node: Node?, _ name: Name? = nil) {
        let reason: String
        switch error {
        case .damaged(let text), .unseen(let text): reason = text
        case .system, .locked, .unsupported, .stale: return
        }
        refusals.note(
            reason,
            at: node.map { node in
                name.map { .entry(folder: node.backing, $0) } ?? .object(node.backing, node.identity)
            })
        log(.damage(path: path(of: node, name), reason: reason, stored: storedName(of: node, name)))
    }

    /// The name of the backing file; nil if its folder is not open.
    private func storedName(of node: Node?, _ name: Name?) -> Name? {
        let location = name.flatMap { name in node.map { Location(parent: $0, name: name) } } ?? node?.latestName
        guard let location, let directory = location.parent.state.withLock({ $0.directory }) else { return nil }
        return try? vault.storedName(location.name, in: directory).name
    }

    /// A path for messages, from the mount's root.
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
    func initialized(_ connection: Connection) { watched.allow(connection.expiresEntries) }

    func interrupted() { parked.interrupted() }

    /// The kernel has not closed files that are still open: persists their lengths. All keys go with the process.
    func destroyed() {
        isEnding.store(true, ordering: .relaxed)
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

import Fuse
import Posix
import Synchronization
import Vault

/// Open directories. Each handle lists the entries as they were at its last rewind.
final class ListingTable: Sendable {
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex<(listings: [HandleID: OpenListing], next: UInt64)>(([:], 1))

    func open(_ share: HandleShare) -> HandleID {
        state.withLock { state in
            let handle = HandleID(rawValue: state.next)
            state.next += 1
            state.listings[handle] = OpenListing(share: share)
            return handle
        }
    }

    subscript(handle: HandleID) -> OpenListing? { state.withLock { $0.listings[handle] } }

    /// Closes a handle and returns its share; nil if it is not open.
    func close(_ handle: HandleID) -> HandleShare? { state.withLock { $0.listings.removeValue(forKey: handle)?.share } }
}

/// The entries of one open directory. The offset of an entry is its position in this list, so that telldir(3) and
/// seekdir(3) neither repeat nor skip entries.
final class OpenListing: Sendable {
    let share: HandleShare
    /// Lock order: docs/ARCHITECTURE.md.
    private let entries = Mutex<[ListedEntry]?>(nil)

    init(share: HandleShare) { self.share = share }

    /// All entries; read again if `rewinding`, and at the first call.
    func entries(
        rewinding: Bool, _ read: () throws(VaultError) -> [ListedEntry]
    ) throws(VaultError) -> [ListedEntry] {
        try entries.withLock { entries throws(VaultError) in
            if !rewinding, let entries { return entries }
            let fresh = try read()
            entries = fresh
            return fresh
        }
    }
}

extension VaultFileSystem {
    func opendir(_ request: Request, _ id: NodeID, flags: Int32, reply: consuming Reply<Opened>) {
        guard let share = shares.take(for: request.user) else { return reply.fail(.EMFILE) }
        let handle = listings.open(share)
        if !reply.succeed(Opened(handle: handle)) { close(listing: handle) }
    }

    func releasedir(_ request: Request, _ id: NodeID, handle: HandleID, reply: consuming Reply<Done>) {
        close(listing: handle)
        reply.succeed()
    }

    private func close(listing handle: HandleID) {
        if let share = listings.close(handle) { shares.giveBack(share) }
    }

    func fsyncdir(
        _ request: Request, _ id: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>
    ) {
        answer(reply, id) { (node) throws(VaultError) in
            try tree.withShared { () throws(VaultError) in try vault.synchronize(try directory(of: node)) }
        }
    }

    func readdir(
        _ request: Request, _ id: NodeID, handle: HandleID, offset: Int64, size: Int,
        reply: consuming Reply<Listing>
    ) {
        var listing = Listing(capacity: size)
        do throws(VaultError) {
            let node = try node(id)
            if offset == 0 { try listAnew(node, handle) }
            let entries = try tree.withShared { () throws(VaultError) in
                try self.entries(of: node, handle, offset)
            }
            for index in Int(offset)..<max(entries.count, Int(offset)) {
                let entry = entries[index]
                guard listing.add(entry.name, inode: entry.inode, kind: entry.kind, next: Int64(index) + 1) else {
                    break
                }
            }
        } catch {
            log(error, at: nodes[id])
            return reply.fail(error.errno)
        }
        _ = reply.succeed(listing)
    }

    func readdirplus(
        _ request: Request, _ id: NodeID, handle: HandleID, offset: Int64, size: Int,
        reply: consuming Reply<EntryListing>
    ) {
        var listing = EntryListing(capacity: size)
        var lookedUp: [NodeID] = []
        do throws(VaultError) {
            let node = try node(id)
            if offset == 0 { try listAnew(node, handle) }
            try tree.withShared { () throws(VaultError) in
                let entries = try entries(of: node, handle, offset)
                let directory = try directory(of: node)
                for index in Int(offset)..<max(entries.count, Int(offset)) {
                    let entry = entries[index]
                    guard listing.fits(entry.name) else { break }
                    guard let answer = try attributes(of: entry, in: directory, node) else { continue }
                    _ = listing.add(entry.name, answer, next: Int64(index) + 1)
                    if answer.node.rawValue != 0 { lookedUp.append(answer.node) }
                }
            }
        } catch {
            log(error, at: nodes[id])
            for node in lookedUp { forget(node, count: 1) }
            return reply.fail(error.errno)
        }
        if !reply.succeed(listing) {
            for node in lookedUp { forget(node, count: 1) }
        }
    }

    /// What a lookup of a listed entry would answer; nil if the entry has been removed meanwhile. A damaged entry is
    /// listed with its name alone.
    private func attributes(
        of entry: ListedEntry, in directory: Directory, _ parent: Node
    ) throws(VaultError) -> Fuse.Entry? {
        var unknown = FileStatus(listing: entry)
        if entry.name.isDotOrDotDot {
            unknown.mode = FileKind.directory.mode
            return Fuse.Entry(node: NodeID(rawValue: 0), status: unknown, attributeTimeout: 0, entryTimeout: 0)
        }
        do throws(VaultError) {
            let moment = self.moment
            let found = try vault.lookupInBrief(entry, in: directory)
            return instantiate(found, at: Location(parent: parent, name: entry.name), readAfter: moment).0
        } catch {
            if error == .system(.ENOENT) { return nil }
            return Fuse.Entry(node: NodeID(rawValue: 0), status: unknown, attributeTimeout: 0, entryTimeout: 0)
        }
    }

    /// The entries of an open directory, `.` and `..` first. Needs `tree` shared.
    private func entries(of node: Node, _ handle: HandleID, _ offset: Int64) throws(VaultError) -> [ListedEntry] {
        guard let listing = listings[handle] else { throw .system(.EBADF) }
        return try listing.entries(rewinding: false) { () throws(VaultError) in
            try read(node)
        }
    }

    /// Reads the entries of an open directory. If there are conflict copies, they get names before.
    private func listAnew(_ node: Node, _ handle: HandleID) throws(VaultError) {
        guard let listing = listings[handle] else { throw .system(.EBADF) }
        func read() throws(VaultError) -> Bool {
            try tree.withShared { () throws(VaultError) in
                _ = try listing.entries(rewinding: true) { () throws(VaultError) in try self.read(node) }
                let directory = try directory(of: node)
                return directory.hadConflictCopies || vault.mayTakeIn(directory)
            }
        }
        let mayHaveMore = try read()
        if mayHaveMore, takeInOrTell(node) { _ = try read() }
    }

    /// The same as `takeIn`. A failure, as on a full disk, keeps no program from seeing what has a name already: it is
    /// logged, once, and the next look tries again.
    func takeInOrTell(_ node: Node) -> Bool {
        do throws(VaultError) { return try takeIn(node) } catch {
            log(error, at: node)
            if case .system = error, !hasToldOfTakingIn.exchange(true, ordering: .relaxed) {
                log(.trouble("what other machines have left in \(path(of: node)) cannot be taken in: \(error)"))
            }
            return false
        }
    }

    /// Takes in what other machines have left in a directory. The kernel does not know the names yet.
    ///
    /// - Returns: whether there was something.
    func takeIn(_ node: Node) throws(VaultError) -> Bool {
        guard !keepsStill.load(ordering: .acquiring) else { return false }
        var hasFound = false
        // A program that waits for the lock has its turn in between.
        for _ in 0..<Self.mostTurns {
            let mayHaveMore = try tree.withExclusive { () throws(VaultError) in
                guard try vault.takeIn(try directory(of: node)) else { return false }
                // What has come in must stay, as what a program makes.
                keep(node)
                return true
            }
            guard mayHaveMore else { break }
            hasFound = true
        }
        return hasFound
    }

    private static let mostTurns = 1000

    /// Needs `tree` shared.
    private func read(_ node: Node) throws(VaultError) -> [ListedEntry] {
        let parent = node.latestName?.parent ?? node
        let dots = [
            ListedEntry(dots: .current, inode: node.backing.inode),
            ListedEntry(dots: .parent, inode: parent.backing.inode),
        ]
        return dots + (try vault.entries(of: try directory(of: node)))
    }
}

extension FileStatus {
    /// The status for a listing without attributes.
    fileprivate init(listing entry: ListedEntry) {
        self.init(.init())
        inode = entry.inode
        mode = entry.kind?.mode ?? 0
    }
}

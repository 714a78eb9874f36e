import Glibc
import Posix
public import Store
import Vault

/// Finds out what a store can do, by trying it in a folder of its own that is gone afterwards.
///
/// The folder is `lk.tmp.R` in the store's root, a name that a vault does not show. A mount of the vault may run
/// meanwhile. For one thread; it waits for the store as long as the store takes.
public final class StoreProbe {
    /// How much is tried.
    public enum Extent: Sendable {
        /// What decides whether a vault may live there: some 60 calls.
        case decisive
        /// All features, with the limits of names and attributes.
        case all
    }

    /// The only file while it is not known whether the store lists any.
    static let listed: Name = "listed"

    let store: any Store
    let folder: Descriptor
    var facts: StoreFacts

    private init(_ store: any Store, _ folder: Descriptor, _ facts: StoreFacts) {
        (self.store, self.folder, self.facts) = (store, folder, facts)
    }

    /// What the store can do.
    ///
    /// A store that cannot be written to is not probed: `isReadOnly`, and what its kind tells. An error that passes, as
    /// of a full disk, makes a feature unknown.
    ///
    /// - Parameter writes: false if nothing may be written.
    public static func facts(
        of store: any Store, kind: StoreKind? = nil, _ extent: Extent = .all, writes: Bool = true
    ) -> StoreFacts {
        var facts = StoreFacts(kind ?? StoreKind(of: store))
        let statistics = try? store.statistics()
        if let statistics { facts[.nameBytes] = .number(statistics.maximumNameLength) }
        let name = Name.temporary()
        do throws(Errno) {
            guard writes, (statistics?.flags ?? 0) & UInt64(ST_RDONLY) == 0 else { throw .EROFS }
            try store.makeDirectory(name, in: store.root, mode: 0o700)
        } catch {
            facts.isReadOnly = [.EROFS, .EACCES, .EPERM].contains(error)
            facts.nothingWasTried(error)
            return facts
        }
        defer { remove(name, in: store) }
        do throws(Errno) {
            facts = try probed(facts, in: name, of: store, extent)
        } catch {
            facts.nothingWasTried(error)
        }
        return facts
    }

    /// All open files are closed when it returns: some stores cannot remove an open one.
    private static func probed(
        _ facts: StoreFacts, in name: Name, of store: any Store, _ extent: Extent
    ) throws(Errno) -> StoreFacts {
        let probe = StoreProbe(store, try store.open(name, in: store.root, O_RDONLY | O_DIRECTORY), facts)
        probe.run(extent)
        return probe.facts
    }

    /// What a mount has to know of the store. A kind that does all that POSIX asks of it is not probed.
    public static func factsForMount(of store: any Store, readOnly: Bool) -> StoreFacts {
        let kind = StoreKind(of: store)
        guard !kind.isComplete else { return StoreFacts(kind) }
        return facts(of: store, kind: kind, .decisive, writes: !readOnly)
    }

    private func run(_ extent: Extent) {
        tryListing()
        // No vault can live there, and what other tries leave behind could not be found.
        guard !facts[.listing].isNo else { return }
        tryCreation()
        tryInodes()
        tryRename()
        tryOpenFiles()
        tryLinks()
        tryCase()
        tryRandomWrites()
        trySynchronizing()
        tryUnlink()
        tryTimes()
        tryLocks()
        tryAttributes()
        guard extent == .all else { return }
        tryAttributeSizes()
        tryLongestName()
        tryNamelessFile()
        tryHoles()
    }

    /// A store may keep the names of open files as others (`.fuse_hidden…`), or list names late: what is listed goes,
    /// and then the folder. Nothing that is left is part of a vault.
    private static func remove(_ name: Name, in store: any Store) {
        for _ in 0..<3 {
            if let folder = try? store.open(name, in: store.root, O_RDONLY | O_DIRECTORY) {
                let names = (try? store.entries(of: folder).map(\.name)) ?? [listed]
                for name in names { try? store.unlink(name, in: folder) }
            }
            if (try? store.removeDirectory(name, in: store.root)) != nil { return }
        }
    }

    // MARK: What the tries have in common

    /// Notes what `body` finds out; an error of its is the answer.
    func note(_ feature: StoreFeature, _ body: () throws(Errno) -> StoreFact.Answer) {
        do throws(Errno) { facts[feature] = StoreFact(try body()) } catch { facts[feature] = StoreFact(refused: error) }
    }

    /// Runs `body`, which notes the features; if what it needs cannot be made, they are unknown.
    func preparing(
        _ features: StoreFeature..., body: () throws(Errno) -> Void
    ) {
        do throws(Errno) { try body() } catch {
            for feature in features where facts[feature] == .unknown { facts[feature] = StoreFact(.unknown, error) }
        }
    }

    /// Makes a file with these contents, and closes it: some stores take only whole files, at the close.
    func make(_ name: Name, _ contents: String = "") throws(Errno) {
        let file = try store.open(name, in: folder, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        if !contents.isEmpty { try write(contents, to: file, at: 0) }
    }

    func write(_ text: String, to file: Descriptor, at offset: Int64) throws(Errno) {
        let bytes = Array(text.utf8)
        try unsafe store.write(bytes.span.bytes, to: file, at: offset)
    }

    /// The first bytes of an open file, as text.
    func read(_ file: Descriptor, upTo count: Int = 64) throws(Errno) -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        let got = try store.read(file, into: &span, at: 0)
        return String(decoding: bytes.prefix(got), as: UTF8.self)
    }

    func open(_ name: Name, _ flags: Int32 = O_RDONLY) throws(Errno) -> Descriptor {
        try store.open(name, in: folder, flags, mode: 0o600)
    }

    func inode(of name: Name) throws(Errno) -> UInt64 { try store.status(of: name, in: folder).inode }
    func inode(of file: Descriptor) throws(Errno) -> UInt64 { try store.status(of: file).inode }
}

extension StoreFacts {
    fileprivate mutating func nothingWasTried(_ error: Errno) {
        for feature in StoreFeature.allCases where !feature.isKnownOfKind && self[feature] == .unknown {
            self[feature] = StoreFact(.unknown, error)
        }
    }
}

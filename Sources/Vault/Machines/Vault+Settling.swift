import Format
import Posix
import Store

// Two machines that rename a folder to two names leave two folders with one ID, and files that this machine knows by
// one place: docs/FORMAT.md, "Synchronised vaults".

extension Vault {
    /// Brings folders that several machines have changed into order, before a program looks: each of two folders with
    /// the same ID gets its own, and one whose record another machine has removed gets it back. Does nothing in a vault
    /// that is not synchronised. What cannot be read stays as it is.
    ///
    /// - Returns: why a folder above a changed one has no new copy of its record; nil if all have.
    public func settleFolders(below root: Directory) -> VaultError? {
        guard takesTurns, !isReadOnly else { return nil }
        var walk = FolderWalk()
        visit(Place(root), &walk)
        for twins in walk.found.values where twins.count > 1 {
            let twins = twins.sorted { $0.binding.bytes.lexicographicallyPrecedes($1.binding.bytes) }
            for twin in twins.dropFirst() { try? separate(twin.path, below: root, &walk.failure) }
        }
        return walk.failure
    }

    /// A folder, and those that lead to it.
    private struct Place {
        let directory: Directory
        private(set) var above: [(directory: Directory, name: Name)] = []

        init(_ root: Directory) { directory = root }

        private init(_ directory: Directory, above: [(directory: Directory, name: Name)]) {
            self.directory = directory
            self.above = above
        }

        func inner(_ name: Name, _ inner: Directory) -> Place { Place(inner, above: above + [(directory, name)]) }

        /// The same place, read again.
        func `as`(_ directory: Directory) -> Place { Place(directory, above: above) }

        var path: [Name] { above.map(\.name) }
    }

    /// Call it after something in a folder was changed: the folders above it stay, too.
    private func keepAbove(_ place: Place, _ failure: inout VaultError?) {
        for (directory, name) in place.above {
            do throws(VaultError) { try keep(directory, changing: name) } catch { failure = error }
        }
    }

    private struct FolderWalk {
        /// The names that lead to each folder, and its name binding.
        var found: [DirectoryIdentifier: [(path: [Name], binding: NameBinding)]] = [:]
        /// A vault that has more is used without it.
        var left = 50_000
        var failure: VaultError?
    }

    private static let deepestFolder = 64

    private func visit(_ place: Place, _ walk: inout FolderWalk) {
        walk.left -= 1
        guard walk.left > 0, place.above.count < Self.deepestFolder else { return }
        let directory = place.directory
        takeInAll(directory)
        // Then something has got another name in it.
        if directory.isKept.load(ordering: .acquiring) { keepAbove(place, &walk.failure) }
        let binding = directory.state.withLock { $0.binding }
        walk.found[directory.identifier, default: []].append((place.path, binding))
        for entry in (try? allEntries(of: directory)) ?? [] where entry.kind == .directory {
            guard let inner = try? openDirectory(entry.name, in: directory) else { continue }
            visit(place.inner(entry.name, inner), &walk)
        }
    }

    /// Gives a folder, and all below it, IDs of their own: on each machine the same ones.
    private func separate(
        _ path: [Name], below root: Directory, _ failure: inout VaultError?
    ) throws(VaultError) {
        var place = Place(root)
        for name in path { place = place.inner(name, try openDirectory(name, in: place.directory)) }
        keepAbove(place, &failure)
        try separate(place)
    }

    private func separate(_ place: Place) throws(VaultError) {
        guard let (parent, name) = place.above.last, place.above.count < Self.deepestFolder else { return }
        try renewIdentifier(of: place.directory)
        let directory = try openDirectory(name, in: parent)
        takeInAll(directory)
        for entry in try allEntries(of: directory) where entry.kind == .directory {
            let inner = try openDirectory(entry.name, in: directory)
            // As it is now, with its new ID.
            try separate(place.as(directory).inner(entry.name, inner))
        }
    }
}

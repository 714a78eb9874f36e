import Format
import Posix
import Store

// In a shared vault, files of a machine's journal may lie elsewhere: another machine has renamed a folder above them,
// of which the journal knows nothing. Most that are missing were removed.

extension RecoveryJournal {
    /// A name that a missing file had, in a folder that is to be found.
    private struct Place {
        let tag: FileIdentifier
        let name: Name
    }

    /// Finds files that do not lie where their records say.
    ///
    /// A name can be decrypted in its own folder alone. So the folder of a file is known by the name, wherever it lies
    /// now, and a file that is not in it is gone: to give it another name, a machine needs a lease of the file, and
    /// nothing of the file is in the journal then.
    func search(for missing: [FileIdentifier: Intent]) throws(VaultError) -> [FileIdentifier: Found] {
        var found: [FileIdentifier: Found] = [:]
        var folders = FolderPaths(of: vault)
        var places: [Place] = []
        for (tag, intent) in missing {
            for (_, _, path, _, _) in intent.files {
                guard let name = path.names.last else { continue }
                // In this folder it was looked for already.
                if folders.isFolder(at: path.names.dropLast(), of: name) { continue }
                places.append(Place(tag: tag, name: name))
            }
        }
        guard !places.isEmpty else { return found }
        var walk = DirectoryWalk(of: vault)
        while !places.isEmpty, let directory = walk.next() {
            for place in places where vault.plainName(of: place.name, in: directory) != nil {
                if let match = try file(of: missing[place.tag]!, place.name, in: directory) { found[place.tag] = match }
            }
            places.removeAll { found[$0.tag] != nil || vault.plainName(of: $0.name, in: directory) != nil }
        }
        // A long name is decrypted with a file that may be gone.
        let isSure = !walk.hasSkipped && !places.contains { BackingName($0.name.bytes) == .longEntry }
        guard !isSure else { return found }
        let unsure = Set(places.map(\.tag))
        found.merge(try searchByHeader(for: missing.filter { unsure.contains($0.key) })) { known, _ in known }
        return found
    }

    private func file(
        of intent: Intent, _ name: Name, in directory: Directory
    ) throws(VaultError) -> Found? {
        do throws(VaultError) {
            guard let file = try vault.openForReplay(name, in: directory.descriptor) else { return nil }
            let header = try vault.readHeader(of: file)
            guard header.file == intent.file, concerns(header), intent.first(fitting: header.generation) != nil else {
                return nil
            }
            return Found(descriptor: file, generation: header.generation)
        } catch {
            if case .damaged = error { return nil }
            guard error.isAbsence else { throw error }
            return nil
        }
    }

    /// Reads the header of each file of the vault.
    private func searchByHeader(
        for missing: [FileIdentifier: Intent]
    ) throws(VaultError) -> [FileIdentifier: Found] {
        var missing = missing
        var found: [FileIdentifier: Found] = [:]
        guard !missing.isEmpty else { return found }
        try Walk(vault: vault).search { (descriptor, header) in
            for (tag, intent) in missing where intent.file == header.file {
                guard concerns(header), intent.first(fitting: header.generation) != nil else { continue }
                found[tag] = Found(descriptor: descriptor, generation: header.generation)
                missing[tag] = nil
            }
            return !missing.isEmpty
        }
        return found
    }
}

/// Opens the directories of a vault by backing paths; each is opened once.
private struct FolderPaths {
    private let vault: Vault
    private var known: [[Name]: Directory?]

    /// So many stay open.
    private static let most = 256

    init(of vault: Vault) {
        self.vault = vault
        known = [[]: try? vault.readRootOfReplay()]
    }

    /// Whether a path leads to the directory in which an entry got its backing name.
    mutating func isFolder(at path: ArraySlice<Name>, of name: Name) -> Bool {
        guard let directory = directory(at: path) else { return false }
        return vault.plainName(of: name, in: directory) != nil
    }

    private mutating func directory(at path: ArraySlice<Name>) -> Directory? {
        // The path is as long as a path may be, and so is the recursion: 4,096 bytes.
        if let known = known[Array(path)] { return known }
        var directory: Directory?
        if let name = path.last, let parent = self.directory(at: path.dropLast()) {
            directory = vault.openInner(name, in: parent)
        }
        if known.count >= Self.most { known = known.filter { $0.key.isEmpty } }
        known[Array(path)] = directory
        return directory
    }
}

/// All directories of a vault, the root first.
///
/// Without recursion: the maker of the vault chooses how deep the tree is. A directory stays open as long as one in it
/// waits for its turn.
private struct DirectoryWalk {
    private let vault: Vault
    private var pending: [(parent: Directory, name: Name)] = []
    private var root: Directory?
    /// A directory could not be opened, or listed.
    private(set) var hasSkipped = false

    init(of vault: Vault) {
        self.vault = vault
        root = try? vault.readRootOfReplay()
        hasSkipped = root == nil
    }

    mutating func next() -> Directory? {
        if let root {
            self.root = nil
            list(root)
            return root
        }
        while let (parent, name) = pending.popLast() {
            guard let directory = vault.openInner(name, in: parent) else {
                hasSkipped = true
                continue
            }
            list(directory)
            return directory
        }
        return nil
    }

    private mutating func list(_ directory: Directory) {
        do throws(VaultError) {
            for entry in try vault.backingEntries(of: directory.descriptor) where entry.kind == .directory {
                switch BackingName(entry.name.bytes) {
                case .entry, .longEntry: pending.append((directory, entry.name))
                default: continue
                }
            }
        } catch { hasSkipped = true }
    }
}

extension Vault {
    fileprivate func readRootOfReplay() throws(VaultError) -> Directory {
        try openDirectory(store.root, at: .zero).0
    }

    /// The directory with a backing name; nil if there is none, or it cannot be opened.
    fileprivate func openInner(_ name: Name, in parent: Directory) -> Directory? {
        guard let plain = plainName(of: name, in: parent) else { return nil }
        let binding = binding(of: plain, in: parent)
        return try? withOwnerPermissions(0o500, of: .entry(name, in: parent.descriptor)) { () throws(VaultError) in
            try openDirectory(try openFolder(name, in: parent.descriptor), at: binding).0
        }
    }
}

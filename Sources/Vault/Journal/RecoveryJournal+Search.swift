import Format
import Glibc
import Posix
import Store

// Finding the files that a journal's records are about.

extension Vault {
    /// The folder at a backing path; nil if there is none any more. If the daemon is an ordinary user, modes may forbid
    /// the way; it owns the folders and lends itself permissions.
    func openFolderForReplay(_ path: BackingPath) throws(VaultError) -> Descriptor? {
        let names = path.names
        do throws(VaultError) {
            var folder = store.root
            for name in names { folder = try pin(name, in: folder, O_DIRECTORY) }
            guard !names.isEmpty else { return folder }
            return try withOwnerPermissions(0o500, of: .file(folder)) { () throws(VaultError) in
                try backing { () throws(Errno) in try store.reopen(folder, OpenFlags.directory) }
            }
        } catch {
            guard error.isAbsence else { throw error }
            return nil
        }
    }

    /// Opens a regular file in a folder, which need not be open for reading; nil for anything else.
    func openForReplay(_ name: Name, in folder: Descriptor) throws(VaultError) -> Descriptor? {
        let file = try pin(name, in: folder, 0)
        guard try backing({ () throws(Errno) in try store.status(of: file) }).kind == .regular else { return nil }
        return try withOwnerPermissions(isReadOnly ? 0o400 : 0o600, of: .file(file)) { () throws(VaultError) in
            try backing { () throws(Errno) in
                try store.reopen(file, isReadOnly ? OpenFlags.read : OpenFlags.readWrite)
            }
        }
    }

    /// Holds an entry with O_PATH, which takes no permission but search permission in its folder.
    func pin(_ name: Name, in folder: Descriptor, _ flags: Int32) throws(VaultError) -> Descriptor {
        try withOwnerPermissions(0o100, of: .file(folder)) { () throws(VaultError) in
            try backing { () throws(Errno) in try store.open(name, in: folder, O_PATH | flags, mode: 0) }
        }
    }

    /// Whether a file is what a crash leaves if the header never reached the disk.
    func isVoid(_ file: Descriptor) throws(VaultError) -> Bool {
        var bytes = [UInt8](repeating: 0, count: FileHeader.byteCount)
        let count: Int
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try store.read(file, into: &span, at: 0)
        } catch { throw .system(error) }
        return count < FileHeader.byteCount || bytes.allSatisfy { $0 == 0 }
    }
}

/// Opens files by backing paths. The folders on the way stay open: a journal has many files of a folder, and a store
/// that a network lies before takes its time for each call.
struct ReplayPaths {
    private let vault: Vault
    private var folders: [[Name]: Descriptor] = [:]

    private static let mostFolders = 256

    init(of vault: Vault) { self.vault = vault }

    /// The file at a path; nil if there is none any more. If the daemon is an ordinary user, modes may forbid the way;
    /// it owns the folders and the file and lends itself permissions.
    mutating func openFile(_ path: BackingPath) throws(VaultError) -> Descriptor? {
        guard let last = path.names.last else { return nil }
        do throws(VaultError) {
            return try vault.openForReplay(last, in: try folder(at: path.names.dropLast()))
        } catch {
            guard error.isAbsence else { throw error }
            return nil
        }
    }

    private mutating func folder(at path: ArraySlice<Name>) throws(VaultError) -> Descriptor {
        var known = path
        while !known.isEmpty, folders[Array(known)] == nil { known.removeLast() }
        var folder = folders[Array(known)] ?? vault.store.root
        for count in known.count..<path.count {
            folder = try vault.pin(path[path.startIndex + count], in: folder, O_DIRECTORY)
            if folders.count >= Self.mostFolders { folders = [:] }
            folders[Array(path.prefix(count + 1))] = folder
        }
        return folder
    }
}

/// Searches the whole vault for a file by its header, if its path could not be found out, or leads elsewhere by now.
struct Walk {
    let vault: Vault
    /// Only files of these backing names are looked at; nil for all.
    var names: Set<Name>?

    /// Without recursion: the maker of the vault chooses how deep the tree is. A folder stays open as long as folders
    /// in it wait to be searched. If descriptors run out, files that lie deeper are not found.
    ///
    /// - Parameter visit: gets each file that has a header; false ends the search.
    func search(_ visit: (Descriptor, FileHeader) -> Bool) throws(VaultError) {
        let root = vault.store.root
        var pending: [(parent: Descriptor, name: Name?)] = [(root, nil)]
        while let (parent, name) = pending.popLast() {
            guard let folder = try name.map({ name throws(VaultError) in try open(name, in: parent) }) ?? root else {
                continue
            }
            for entry in try vault.backingEntries(of: folder) {
                switch BackingName(entry.name.bytes) {
                case .entry, .longEntry: break
                default: continue
                }
                if entry.kind == .directory {
                    pending.append((folder, entry.name))
                } else if entry.kind == .regular, names?.contains(entry.name) ?? true,
                    let (file, header) = try file(entry.name, in: folder)
                {
                    guard visit(file, header) else { return }
                }
            }
        }
    }

    /// Nil for what has no header, or cannot be opened.
    private func file(_ name: Name, in folder: Descriptor) throws(VaultError) -> (Descriptor, FileHeader)? {
        try leavingOut { () throws(VaultError) in
            guard let file = try vault.openForReplay(name, in: folder) else { return nil }
            return (file, try vault.readHeader(of: file))
        }
    }

    private func open(_ name: Name, in parent: Descriptor) throws(VaultError) -> Descriptor? {
        try leavingOut { () throws(VaultError) in
            try vault.withOwnerPermissions(0o500, of: .entry(name, in: parent)) { () throws(VaultError) in
                try vault.openFolder(name, in: parent)
            }
        }
    }

    /// Leaves out what cannot be read. But one of a few files that are looked for by name must not seem to be gone
    /// because the store fails for a moment: what the journal has of it would be lost.
    private func leavingOut<Found>(_ body: () throws(VaultError) -> Found?) throws(VaultError) -> Found? {
        do throws(VaultError) { return try body() } catch {
            if names == nil || error.isAbsence { return nil }
            if case .damaged = error { return nil }
            throw error
        }
    }
}

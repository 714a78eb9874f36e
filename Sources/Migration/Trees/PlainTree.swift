import Glibc
import Posix
import Store
import Vault

/// A folder of plain files. Staged files, and originals on their way out, lie in the workspace, in the same file
/// system.
final class PlainTree: Tree {
    typealias Folder = Descriptor
    typealias Opened = PlainFile

    let store: any Store
    let root: Descriptor
    /// The workspace's folders for staged files, and for originals that were taken away.
    let staging: Descriptor
    let removed: Descriptor
    /// The workspace's folder for originals that are overwritten.
    let wiped: Descriptor
    private let isPrivileged = geteuid() == 0
    var isOwnerRestricted: Bool { !isPrivileged }

    /// - Parameter store: holds all the folders.
    init(_ store: any Store, root: Descriptor, staging: Descriptor, removed: Descriptor, wiped: Descriptor) {
        self.store = store
        self.root = root
        self.staging = staging
        self.removed = removed
        self.wiped = wiped
        // The kernel sends it when a lease is broken; it would end the process.
        signal(SIGIO, SIG_IGN)
    }

    // MARK: What is there

    func entries(of folder: Descriptor) throws(VaultError) -> [DirectoryEntry] {
        let stream = try openKeepingTimes(.current, in: folder)
        return try backing { () throws(Errno) in
            var entries: [DirectoryEntry] = []
            while true {
                let more = try store.nextEntries(of: stream)
                if more.isEmpty { return entries }
                entries += more
            }
        }
    }

    func status(of name: Name, in folder: Descriptor) throws(VaultError) -> FileStatus {
        try backing { () throws(Errno) in try store.status(of: name, in: folder) }
    }

    func status(of folder: Descriptor) throws(VaultError) -> FileStatus {
        try backing { () throws(Errno) in try store.status(of: folder) }
    }

    func openFolder(_ name: Name, in parent: Descriptor) throws(VaultError) -> Descriptor {
        try openKeepingTimes(name, in: parent)
    }

    /// A listing is no access of the user's: the folder's time of access is to be kept.
    private func openKeepingTimes(_ name: Name, in parent: Descriptor) throws(VaultError) -> Descriptor {
        try backing { () throws(Errno) in
            do throws(Errno) {
                return try store.open(name, in: parent, O_RDONLY | O_DIRECTORY | O_NOATIME)
            } catch .EPERM {
                return try store.open(name, in: parent, O_RDONLY | O_DIRECTORY)
            }
        }
    }

    func target(of link: Name, in folder: Descriptor) throws(VaultError) -> [UInt8] {
        try backing { () throws(Errno) in try store.readSymbolicLink(link, in: folder) }
    }

    func open(_ name: Name, in folder: Descriptor) throws(VaultError) -> PlainFile {
        try backing { () throws(Errno) in
            // O_NONBLOCK: not to wait for a FIFO, nor for another program's lease.
            let file = try store.open(name, in: folder, O_RDONLY | O_NONBLOCK)
            guard try store.status(of: file).kind == .regular else { throw .ESTALE }
            do throws(Errno) { try file.takeReadLease() } catch {
                // Some file systems have no leases, and other users' files have none for us.
                guard error == .EAGAIN else { return PlainFile(file) }
                throw .ETXTBSY
            }
            return PlainFile(file, hasLease: true)
        }
    }

    func status(of file: PlainFile) throws(VaultError) -> FileStatus {
        try backing { () throws(Errno) in try store.status(of: file.descriptor) }
    }

    func read(_ file: PlainFile, into buffer: inout MutableRawSpan, at offset: Int64) throws(VaultError) -> Int {
        do throws(Errno) { return try store.read(file.descriptor, into: &buffer, at: offset) } catch {
            throw .system(error)
        }
    }

    func data(of file: PlainFile, from offset: Int64) throws(VaultError) -> Range<Int64>? {
        try backing { () throws(Errno) in
            guard let start = try store.nextData(of: file.descriptor, from: offset),
                let end = try store.nextHole(of: file.descriptor, from: start)
            else { return nil }
            return start..<end
        }
    }

    func attributes(of subject: Subject<PlainTree>) throws(VaultError) -> [Attribute] {
        guard let subject = try descriptor(of: subject) else { return [] }
        return try backing { () throws(Errno) in
            let names: [String]
            do throws(Errno) {
                names = try store.attributeNames(of: subject)
                // It could not be given to the copy, and would be lost.
                guard try subject.hasOnlyTextualAttributeNames() else { throw .EILSEQ }
            } catch .EOPNOTSUPP { return [] }
            return try names.filter { KeptAttributes.mayBeKept(Array($0.utf8)) }.map { (name) throws(Errno) in
                Attribute(name: Array(name.utf8), value: try store.attribute(name, of: subject))
            }.filter(KeptAttributes.isKept)
        }
    }

    /// Nil if it can have no attributes that a vault keeps.
    private func descriptor(of subject: Subject<PlainTree>) throws(VaultError) -> Descriptor? {
        switch subject {
        case .file(let file): return file.descriptor
        case .folder(let folder): return folder
        case .node(let name, let folder):
            guard isPrivileged else { return nil }
            return try backing { () throws(Errno) in try store.open(name, in: folder, O_PATH) }
        }
    }
}

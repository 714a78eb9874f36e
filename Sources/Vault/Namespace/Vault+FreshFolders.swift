import Format
import Posix
import Store

// New directories. mkdir(2) flushes nothing, so a sync of their parent must also flush their records.

extension Vault {
    /// At most this many directories wait for a flush; each takes memory.
    static let mostFreshFolders = 65_536

    /// Makes the names in a directory durable, and the header or record of each new entry behind them.
    public func synchronize(_ directory: Directory) throws(VaultError) {
        if !isReadOnly {
            for file in files.dirty where file.createdIn == directory.identifier { try file.commitCreate() }
            try backing { () throws(Errno) in try openJournal().flush() }
            try synchronize(files.folders(in: directory.identifier))
        }
        try flush(folder: directory.descriptor)
    }

    /// Makes the records of all new directories durable.
    func synchronizeFreshFolders() throws(VaultError) { try synchronize(files.allFolders) }

    private func synchronize(_ fresh: [DirectoryIdentifier: FileTable.FreshFolders]) throws(VaultError) {
        if fresh.values.reduce(0, { $0 + $1.names.count }) <= Self.mostFlushedAlone || !haveFlushedAll() {
            for fresh in fresh.values { try synchronize(fresh) }
        }
        files.forget(fresh)
    }

    private func synchronize(_ fresh: FileTable.FreshFolders) throws(VaultError) {
        for name in fresh.names.keys {
            let folder: Descriptor
            do throws(VaultError) {
                folder = try withOwnerPermissions(0o500, of: .entry(name, in: fresh.parent)) { () throws(VaultError) in
                    try openFolder(name, in: fresh.parent)
                }
            } catch {
                // The directory may have been removed or renamed since.
                guard error.isAbsence else { throw error }
                continue
            }
            try flush(folder: folder)
        }
    }
}

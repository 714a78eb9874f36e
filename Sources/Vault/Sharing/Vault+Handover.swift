import Format
import Posix
public import Sharing
import Store

// What a machine does when it gives a lease up, and when it gets one: docs/LEASES.md.

extension Vault {
    /// A checkpoint of files may leave something that came meanwhile.
    private static let mostCheckpoints = 3

    /// Brings all that this machine has written to a file into its place, durably. No request uses the file.
    ///
    /// - Throws: EBUSY if something of it still waits.
    public func settle(_ object: LeaseObject) throws(VaultError) {
        guard !isReadOnly else { return }
        for file in files.files(of: object) {
            try file.persistLength()
            for _ in 0..<Self.mostCheckpoints where file.isListed { try checkpoint { [file] } }
            guard !file.isListed else { throw .system(.EBUSY) }
        }
    }

    /// Makes all that this machine has changed in a directory durable. No request uses the directory.
    public func settle(_ directory: Directory) throws(VaultError) {
        guard !isReadOnly else { return }
        do throws(VaultError) {
            try finishEarlierMove(of: directory)
            try synchronize(directory)
        } catch {
            // The directory has been removed.
            guard error.isAbsence || error == .system(.ESTALE) else { throw error }
        }
    }

    /// Reads a file again that another machine may have changed.
    public func reload(_ object: LeaseObject) throws(VaultError) {
        for file in files.files(of: object) { try file.reload() }
    }

    /// Reads a directory's record again, which another machine may have changed.
    ///
    /// - Returns: false if the directory is not where it was.
    public func reload(_ directory: Directory) throws(VaultError) -> Bool {
        let binding = directory.state.withLock { $0.binding }
        directory.lacksDefaultList.store(false, ordering: .releasing)
        do throws(VaultError) {
            let record = try withOwnerPermissions(0o500, of: .file(directory.descriptor)) { () throws(VaultError) in
                try readRecord(.directoryRecord, at: binding, in: directory.descriptor)
            }
            guard record.directory == directory.identifier else { return false }
            directory.state.withLock { $0.record = record }
            return true
        } catch {
            guard error.isDamage || error.isAbsence || error == .system(.ESTALE) else { throw error }
            return false
        }
    }
}

extension File {
    var isListed: Bool { lock.withShared { state.sync.isListed } }

    /// Whether something of the file is in this machine's memory or journal alone.
    public var isUnsettled: Bool {
        lock.withShared { state.sync.isListed || state.headerAtClose(isStampSpent: isStampSpent) != nil }
    }
}

import Format
import Posix
import Store

extension Vault {
    /// Opens the root; its record is sealed for the binding of zeros.
    public func openRoot() throws(VaultError) -> Directory {
        try beginSession()
        return try readRoot()
    }

    /// Applies what the last session left in the journal: to the files, or, in a vault that is only read, to what is
    /// shown.
    package func beginSession() throws(VaultError) {
        if isReadOnly { try overlayJournal() } else { try recover() }
    }

    package func readRoot() throws(VaultError) -> Directory {
        attributeFolder.find(in: store)
        let record = try readRootRecord()
        let root = Directory(descriptor: store.root, record: record, binding: .zero)
        try compareRoot(root)
        try tidy(root)
        return root
    }

    /// A program that copies the vault may not have brought the record yet.
    private func readRootRecord() throws(VaultError) -> DirectoryRecord {
        do throws(VaultError) { return try readRecord(.directoryRecord, at: .zero, in: store.root) } catch {
            guard case .damaged = error, let record = try lentRecord(at: .zero, in: store.root) else { throw error }
            return record
        }
    }

    /// The class in the root's record, which new entries of the root get. Reads nothing else, and begins no session.
    public func rootClass() throws(VaultError) -> ProtectionClass {
        try readRecord(.directoryRecord, at: .zero, in: store.root).defaultClass
    }

    /// Throws unless the keys of this volume open the root's record. Checks nothing else.
    public func checkRoot() throws(VaultError) { _ = try readRecord(.directoryRecord, at: .zero, in: store.root) }
}

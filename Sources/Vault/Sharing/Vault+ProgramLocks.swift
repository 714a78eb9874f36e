public import Posix
import Store

// Locks of programs on other machines: they lock bytes of the backing file, which mean nothing to the vault itself.

extension Vault {
    /// Another open file of a file's backing file. Its locks are those of one owner.
    public func openForLocks(_ file: File) throws(VaultError) -> Descriptor {
        do throws(Errno) { return try store.reopen(file.descriptor, OpenFlags.readWrite) } catch {
            guard error == .EACCES || error == .EPERM || error == .EROFS else { throw .system(error) }
        }
        return try backing { () throws(Errno) in try store.reopen(file.descriptor, OpenFlags.read) }
    }

    /// See `Store.lock`.
    public func store(lock range: ByteRange, _ kind: RangeLock?, of file: Descriptor) throws(Errno) -> Bool {
        try store.lock(range, kind, of: file)
    }

    /// See `Store.obstacle`.
    public func store(
        obstacleTo kind: RangeLock, of range: ByteRange, in file: Descriptor
    ) throws(Errno) -> (RangeLock, ByteRange)? {
        try store.obstacle(to: kind, of: range, in: file)
    }
}

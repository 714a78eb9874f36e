import Format
import Keybag
import Posix
import Store
import Synchronization

/// A regular file of the vault while somebody uses it: its backing descriptor, its header, and its key while that is
/// in memory.
///
/// At most one for each inode, shared by all who have the file open. Thread-safe: readers share `lock`, writers hold
/// it alone.
///
/// Lock order: a `Directory`'s state, `lock`, `key`; the vault's `modes` and the key ring's own lock come last.
@safe
public final class File: @unchecked Sendable {  // unchecked: `state` is guarded by `lock`
    let vault: Vault
    let descriptor: Descriptor
    public let identifier: FileIdentifier

    let lock = ReadWriteLock()
    /// Guarded by `lock`.
    var state: State
    /// The file key, if it is in memory. Filled under the shared lock, emptied under the exclusive one.
    let key: Mutex<FileKey?>

    struct State {
        /// As it lies on disk, or will with the next write of it.
        var header: FileHeader
        /// The live length: the header's is behind until the next sync or close.
        var length: UInt64
        /// The backing file may be longer than the length needs: what a crash left.
        var hasResidue: Bool
        /// When the file was made, until its first sync.
        var freshSince: ContinuousClock.Instant?
        /// The descriptor that is written to, if there is one already.
        var writable: Descriptor?
    }

    init(
        vault: Vault, descriptor: Descriptor, isWritable: Bool, header: FileHeader, key: FileKey?, hasResidue: Bool,
        freshSince: ContinuousClock.Instant?
    ) {
        self.vault = vault
        self.descriptor = descriptor
        identifier = header.file
        state = State(
            header: header, length: header.length, hasResidue: hasResidue, freshSince: freshSince,
            writable: isWritable ? descriptor : nil)
        self.key = Mutex(key)
    }

    /// The file key, unwrapped when it is not in memory; `locked` when its class key is away. Needs `lock`.
    func currentKey() throws(VaultError) -> FileKey {
        try key.withLock { (key) throws(VaultError) in
            if let key { return key }
            let header = state.header
            do throws(KeyRingError) {
                let secret = try vault.ring.unwrap(
                    FileKeyWrap(algorithm: header.wrapAlgorithm, bytes: header.wrap), file: header.file,
                    class: header.protectionClass)
                let fresh = FileKey(secret)
                key = fresh
                return fresh
            } catch { throw VaultError(error) }
        }
    }

    /// Makes sure that the key is in memory: what open(2) does, so that class B can be used while locked.
    public func loadKey() throws(VaultError) {
        try lock.withShared { () throws(VaultError) in _ = try currentKey() }
    }

    /// Wipes the file key. Whoever is in the middle of a read or write finishes first.
    public func dropKey() {
        lock.withExclusive { key.withLock { $0 = nil } }
    }

    public var hasKey: Bool { key.withLock { $0 != nil } }

    public var protectionClass: ProtectionClass { lock.withShared { state.header.protectionClass } }

    public var header: FileHeader {
        lock.withShared {
            var header = state.header
            header.length = state.length
            return header
        }
    }

    public var length: UInt64 { lock.withShared { state.length } }

    /// What stat(2) says. A length that the header does not have yet is written first, so that a later close
    /// changes no time that somebody has seen.
    public func status() throws(VaultError) -> FileStatus {
        try persistLength()
        return try lock.withShared { () throws(VaultError) in
            var status = try vault.backingStatus(of: .file(descriptor))
            status.size = Int64(state.length)
            return status
        }
    }
}

import Format
import Keybag
import Posix
import Store
import Synchronization

/// A regular file of the vault while somebody uses it, or until what was written to it is checkpointed: its backing
/// descriptor, its header, and its key while that is in memory.
///
/// At most one for each inode, shared by all who have the file open. Thread-safe: readers share `lock`, writers hold
/// it alone.
///
/// Lock order: the vault's `checkpointing`, a `Directory`'s state, `lock`, `key`, `flushing`; the vault's `paths`, the
/// file table, the journal, its `modes` and the key ring's own lock come last. Room in the journal is made before
/// `lock` is taken: whoever frees a half needs the locks of other files.
@safe
public final class File: @unchecked Sendable {  // unchecked: `state` is guarded by `lock`
    let vault: Vault
    package let descriptor: Descriptor
    let identity: FileIdentity
    public var identifier: FileIdentifier { identity.identifier }

    let lock = ReadWriteLock()
    /// Guarded by `lock`.
    package var state: State
    /// The file key, if it is in memory. Filled under the shared lock, emptied under the exclusive one.
    let key: Mutex<FileKey?>
    /// Held during a flush of the backing file.
    let flushing = RecursiveLock()
    /// Why a flush has failed, if one has.
    let flushFailure = Mutex<Errno?>(nil)
    /// Where it stands while it has no name yet.
    let nameless = Mutex<UnnamedBinding?>(nil)
    /// It may have file capabilities, which go when it is written to.
    let mayHaveCapabilities = Atomic(true)
    /// Each header that is needed for a length to last is written at once: see `keepLengths`.
    let keepsLengths = Atomic(false)
    /// The second in which an access was last noted, 0 if none was.
    let noted = Atomic<Int64>(0)

    package struct State {
        /// As it will be written next, but for the provisional length and the generation.
        var header: FileHeader
        /// The live length; the header's is what was confirmed.
        var length: UInt64
        /// The backing file may be longer than the length needs: what a crash left.
        var hasStaleTail: Bool
        /// A crash left blocks between the confirmed length and the live one that may not verify: those read as zeros.
        var isUnproven: Bool
        /// What has to be done until all of this lies in the backing file, durably.
        package var writeback = WritebackState()
        /// The descriptor that is written to, if there is one already.
        var writable: Descriptor?

        /// - Parameter status: of the backing file that has the header.
        init(_ header: FileHeader, isNew: Bool, _ status: FileStatus, writable: Descriptor?) {
            self.header = header
            self.writable = writable
            length = header.provisionalLength
            hasStaleTail = UInt64(status.size) > BlockGeometry.backingSize(forLength: length)
            isUnproven = header.length < length
            writeback.inPlaceLength = header.length
            writeback.toldLength = length
            writeback.inPlaceGeneration = header.generation
            writeback.inPlaceStamp = header.stamp
            writeback.durableGeneration = isNew ? 0 : header.generation
            writeback.isAssumedDurable = !isNew
            writeback.mayHaveDuplicates = header.bindings.isEmpty || header.bindings.count > status.linkCount
            writeback.durableEnd = header.length
            writeback.durableEndSinceHeader = header.length
        }
    }

    /// - Parameter status: of the backing file.
    package init(
        vault: Vault, descriptor: Descriptor, isWritable: Bool, header: FileHeader, isNew: Bool, status: FileStatus
    ) {
        self.vault = vault
        self.descriptor = descriptor
        identity = FileIdentity(identifier: header.file, inode: status.inode)
        state = State(header, isNew: isNew, status, writable: isWritable ? descriptor : nil)
        key = Mutex(nil)
    }

    /// The file key, unwrapped when it is not in memory; `locked` when its class key is away. Needs `lock`.
    package func currentKey() throws(VaultError) -> FileKey {
        try key.withLock { (key) throws(VaultError) in
            if let key { return key }
            let header = state.header
            do throws(KeyRingError) {
                let secret = try vault.ring.unwrap(
                    FileKeyWrap(algorithm: header.protection.wrapAlgorithm, bytes: header.protection.wrap),
                    file: header.file, class: header.protectionClass)
                let fresh = FileKey(secret, countedBy: vault.fileKeys)
                key = fresh
                return fresh
            } catch { throw VaultError(error) }
        }
    }

    /// Makes sure that the key is in memory: what open(2) does, so that class B can be used while locked.
    ///
    /// With the key at hand, what a crash left half-written is put right.
    public func loadKey() throws(VaultError) {
        let isUnproven = try lock.withShared { () throws(VaultError) in
            _ = try currentKey()
            return state.isUnproven
        }
        guard isUnproven && !vault.isReadOnly else { return }
        do throws(VaultError) { try prove() } catch {
            // Who reads can do without.
            guard error.isFullDisk || error.isDamage else { throw error }
        }
    }

    /// Wipes the file key. Whoever is in the middle of a read or write finishes first.
    public func dropKey() {
        lock.withExclusive { key.withLock { $0 = nil } }
    }

    /// The last user has gone: the key goes too, also if the file stays in memory until it is checkpointed.
    public func close() {
        key.withLock { $0 = nil }
    }

    public var hasKey: Bool { key.withLock { $0 != nil } }

    public var protectionClass: ProtectionClass { lock.withShared { state.header.protectionClass } }

    /// The header as it would be written now.
    public var header: FileHeader {
        lock.withShared {
            var header = state.header
            header.provisionalLength = state.length
            return header
        }
    }

    public var length: UInt64 { lock.withShared { state.length } }

    /// What stat(2) says.
    public func status() throws(VaultError) -> FileStatus { try status(of: .file(descriptor)) }

    /// The mode without the type.
    public func permissions() throws(VaultError) -> UInt32 {
        try vault.backingStatus(of: .file(descriptor)).permissions
    }

    /// What stat(2) says of a name of the file.
    func status(of subject: Vault.Subject) throws(VaultError) -> FileStatus {
        // With the lock: the time and the header that tells what it means belong together.
        try lock.withShared { () throws(VaultError) in
            var status = try vault.backingStatus(of: subject)
            show(&status)
            return status
        }
    }

    /// Shows what the journal has of it, in a vault that is only read.
    ///
    /// - Parameter status: of the backing file.
    package func show(_ overlay: Overlay, at binding: NameBinding, _ status: FileStatus) {
        lock.withExclusive {
            if let header = overlay.header {
                state.header = header.resolved(at: binding)
                state.length = header.provisionalLength
                state.isUnproven = header.length < state.length
                // As if it lay in the file: what an earlier header says of the last block counts no more.
                state.writeback.inPlaceLength = header.length
            }
            state.writeback.slots = overlay.slots
            state.writeback.holes = overlay.holes
            state.writeback.pendingSize = max(
                overlay.slots.map { BlockGeometry.backingOffset(ofBlock: $0.key) + UInt64($0.value.count) }.max() ?? 0,
                overlay.holes.ranges.last.map { BlockGeometry.backingOffset(ofBlock: $0.upperBound) } ?? 0)
            state.writeback.modified = overlay.modified
            state.writeback.change = overlay.changed.map { ($0, status.changed) }
        }
    }

    /// Puts into what stat(2) says of the backing file what is not there yet. Needs `lock`.
    func show(_ status: inout FileStatus) {
        status.size = Int64(state.length)
        status.modified = state.writeback.modified ?? state.header.shownTime(of: status.modified)
        status.changed = shownChange(of: status)
    }
}

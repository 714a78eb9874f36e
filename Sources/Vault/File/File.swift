import Format
import Keybag
import Posix
import Store
import Synchronization

/// A regular file of the vault: its backing descriptor, its header, and its key while that is in memory.
///
/// It exists while a program has the file open, and then until what was written is checkpointed. There is at most one
/// for each inode, shared by all open handles. Thread-safe: readers share `lock`, a writer holds it alone.
///
/// Room in the journal is made before `lock` is taken, because freeing a half takes the locks of other files.
@safe
public final class File: @unchecked Sendable {  // unchecked: `state` is guarded by `lock`
    let vault: Vault
    package let descriptor: Descriptor
    let identity: FileIdentity
    public var identifier: FileIdentifier { identity.identifier }

    /// Guards `state`. Lock order: docs/ARCHITECTURE.md.
    let lock = ReadWriteLock()
    /// Guarded by `lock`.
    package var state: State
    /// The file key, if it is in memory. `currentKey` fills it under the shared `lock`, `dropKey` empties it under the
    /// exclusive one. Lock order: docs/ARCHITECTURE.md.
    let key: Mutex<FileKey?>
    /// Held during a flush of the backing file. Lock order: docs/ARCHITECTURE.md.
    let flushing = RecursiveLock()
    /// The error of the flush that has failed, if one has. Lock order: docs/ARCHITECTURE.md.
    let flushFailure = Mutex<Errno?>(nil)
    /// Where the backing file lies while the file has no name yet.
    let nameless = Mutex<UnnamedBinding?>(nil)
    /// The sidecar of its attributes, once the file has lost its last name: it goes when no program has the file open.
    let staleSidecar = Mutex<StaleSidecars.Sidecar?>(nil)
    /// The file may have file capabilities, which a write removes.
    let mayHaveCapabilities = Atomic(true)
    /// A header with the new length is written before a growth is acknowledged: see `keepLengths`.
    let keepsLengths = Atomic(false)
    /// The second in which an access was last noted, 0 if none was.
    let noted = Atomic<Int64>(0)

    package struct State {
        /// The header as it will be written next, but for the provisional length and the generation.
        var header: FileHeader
        /// The live length; the header's is the confirmed one.
        var length: UInt64
        /// The backing file may have a stale tail: it may be longer than the length needs, after a crash or a failed
        /// write.
        var hasStaleTail: Bool
        /// A crash may have left blocks between the confirmed length and the live one that do not verify: those read as
        /// zeros.
        var isUnproven: Bool
        /// What must be done until all of this is durable in the backing file.
        package var writeback = WritebackState()
        /// The descriptor that writes use, once it is open.
        var writable: Descriptor?

        /// - Parameter status: the status of the backing file that has the header.
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

    deinit {
        if let sidecar = staleSidecar.withLock({ $0 }) { vault.sidecars.add(sidecar) }
    }

    /// The file key, unwrapped if it is not in memory. `locked` when its class key is not in memory. Needs `lock`.
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

    /// Makes sure that the key is in memory. open(2) does so, so that an open file of class B can be used while locked.
    ///
    /// With the key at hand, it also repairs what a crash left half-written.
    public func loadKey() throws(VaultError) {
        let isUnproven = try lock.withShared { () throws(VaultError) in
            _ = try currentKey()
            return state.isUnproven
        }
        guard isUnproven && !vault.isReadOnly else { return }
        do throws(VaultError) { try prove() } catch {
            // A reader can do without the repair.
            guard error.isFullDisk || error.isDamage else { throw error }
        }
    }

    /// Wipes the file key, after the reads and writes that are under way.
    public func dropKey() {
        lock.withExclusive { key.withLock { $0 = nil } }
    }

    /// Wipes the key when the last handle is closed, even if the file stays in memory until it is checkpointed.
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

    /// The status of a name of the file, as stat(2) shows it.
    func status(of subject: Vault.Subject) throws(VaultError) -> FileStatus {
        // Under the lock: the backing file's time and the header that says what the time means belong together.
        try lock.withShared { () throws(VaultError) in
            var status = try vault.backingStatus(of: subject)
            show(&status)
            return status
        }
    }

    /// Shows what the journal has of the file, in a read-only vault.
    ///
    /// - Parameter status: the status of the backing file.
    package func show(_ overlay: Overlay, at binding: NameBinding, _ status: FileStatus) {
        lock.withExclusive {
            if let header = overlay.header {
                state.header = header.resolved(at: binding)
                state.length = header.provisionalLength
                state.isUnproven = header.length < state.length
                // As if the header were in the backing file: the length that an older header gives the last block no
                // longer counts.
                state.writeback.inPlaceLength = header.length
            }
            state.writeback.journaledBlocks = overlay.journaledBlocks
            state.writeback.holes = overlay.holes
            state.writeback.pendingSize = max(
                overlay.journaledBlocks.map { BlockGeometry.backingOffset(ofBlock: $0.key) + UInt64($0.value.count) }
                    .max() ?? 0,
                overlay.holes.ranges.last.map { BlockGeometry.backingOffset(ofBlock: $0.upperBound) } ?? 0)
            state.writeback.modified = overlay.modified
            state.writeback.change = overlay.changed.map { ($0, status.changed) }
        }
    }

    /// Corrects the status of the backing file by what is not in that file yet: the length and the times. Needs `lock`.
    func show(_ status: inout FileStatus) {
        status.size = Int64(state.length)
        status.modified = state.writeback.modified ?? state.header.shownTime(of: status.modified)
        status.changed = shownChange(of: status)
    }
}

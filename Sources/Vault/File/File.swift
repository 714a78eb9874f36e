import Format
import Freshness
import Keybag
import Posix
import Store
import Synchronization
import Writeback

/// A regular file of the vault: its backing descriptor, its header, and its key while that is in memory.
///
/// It exists while a program has the file open, and then until what was written is checkpointed. There is at most one
/// for each inode, shared by all open handles. Thread-safe: readers share `lock`, a writer holds it alone.
///
/// Room in the journal is made before `lock` is taken, because freeing a part takes the locks of other files.
@safe
public final class File: @unchecked Sendable {  // unchecked: `state` is guarded by `lock`
    let vault: Vault
    package let descriptor: Descriptor
    let identity: FileIdentity
    public var identifier: FileIdentifier { identity.identifier }

    /// Guards `state`. Lock order: docs/ARCHITECTURE.md.
    let lock = ReadWriteLock()
    /// Guarded by `lock`. A change in place that throws would leave `outline` as it was: there is none.
    package var state: FileState {
        didSet { outline.follow(state.length, state.durable.end, isUnproven: state.repair.isUnproven) }
    }
    /// What can be seen of `state` without `lock`.
    let outline: FileOutline
    /// The descriptor that writes use, once it is open. Guarded by `lock`.
    var writableDescriptor: Descriptor?
    /// What the header in the backing file tells; nil if this machine does not remember such things. Guarded by `lock`.
    var placedMark: Mark?
    /// The names under which the file was found, or which it has got, and has not lost. Guarded by `lock`.
    var markKeys: [MarkKey] = []
    /// Other names that it has, and that no copy has: the header tells the same of all. Guarded by `lock`.
    var otherKeys: [MarkKey] = []
    /// Bounds of the numbers of blocks that were written since a header was placed. Guarded by `lock`.
    var rewritten = BlockBounds()
    /// The highest number in those. Guarded by `lock`.
    var newestRewritten: UInt64 = 0
    /// A crash may have lost which numbers blocks have got since the header was written. Guarded by `lock`.
    var mayHaveLostNumbers = false
    /// Whether this machine remembers bounds of the numbers of its blocks. Guarded by `lock`.
    var isBounded = false
    /// The file was older than what this machine has seen, which was told; the next header makes it the newest version.
    /// Guarded by `lock`.
    var isSuperseded = false
    /// Another machine may have given the file another name while it was open here. Guarded by `lock`.
    var mayBeRenamed = false
    /// The file key, if it is in memory. `currentKey` fills it under the shared `lock`, `dropKey` empties it under the
    /// exclusive one. Lock order: docs/ARCHITECTURE.md.
    let key: Mutex<FileKey?>
    /// For flushes of the backing file.
    let flushes = FlushGuard()
    let nameless = NamelessState()
    /// Where the file was found as a crash in the middle of a rename has left it, in a shared vault: `finishRename`
    /// ends that. Lock order: docs/ARCHITECTURE.md.
    let interruption = Mutex<Interruption?>(nil)
    let marks = FileMarks()

    /// - Parameter status: of the backing file.
    package init(
        vault: Vault, descriptor: Descriptor, isWritable: Bool, header: FileHeader, isNew: Bool, status: FileStatus
    ) {
        self.vault = vault
        self.descriptor = descriptor
        identity = FileIdentity(identifier: header.file, inode: status.inode)
        let state = FileState(header, isNew: isNew, status)
        self.state = state
        outline = FileOutline(state)
        writableDescriptor = isWritable ? descriptor : nil
        key = Mutex(nil)
        if vault.freshness != nil { placedMark = Mark(header, time: Marks.now) }
    }

    deinit {
        vault.flushes.headers.note(state.durable, of: identity)
        if let sidecar = nameless.staleSidecar.withLock({ $0 }) { vault.left.sidecars.add(sidecar) }
    }

    /// The file key, unwrapped if it is not in memory. `locked` when its class key is not in memory. Needs `lock`.
    package func currentKey() throws(VaultError) -> FileKey {
        try refuseStale()
        return try key.withLock { (key) throws(VaultError) in
            if let key { return key }
            let header = state.header
            do throws(KeyRingError) {
                let secret = try vault.ring.unwrap(
                    FileKeyWrap(algorithm: header.protection.wrapAlgorithm, bytes: header.protection.wrap),
                    file: header.file, class: header.protectionClass)
                let fresh = FileKey(secret, countedBy: vault.memory.fileKeys)
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
            return state.repair.isUnproven
        }
        // Another machine may have a read lease of the file too: then the first write repairs it.
        guard isUnproven && !vault.isReadOnly && !vault.isShared else { return }
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
                state.repair.didShow(header)
                state.durable.didShowHeader(confirming: header.length)
            }
            state.journal.show(overlay.journaledBlocks, overlay.holes)
            state.times.show(modified: overlay.modified, changed: overlay.changed, over: status.changed)
        }
    }

    /// Corrects the status of the backing file by what is not in that file yet: the length and the times. Needs `lock`.
    func show(_ status: inout FileStatus) {
        status.size = Int64(state.length)
        status.modified = state.times.modified ?? state.header.shownTime(of: status.modified)
        status.changed = shownChange(of: status)
    }
}

import Format
import Posix
import Synchronization

/// An open directory of the vault whose record has been checked.
///
/// Keeps one descriptor open. Thread-safe.
public final class Directory: Sendable {
    package let descriptor: Descriptor
    public let identifier: DirectoryIdentifier
    /// The record and the name binding; both can change while the directory is open.
    let state: Mutex<State>
    /// At the last listing there was a conflict copy.
    let hasConflictCopies = Atomic(false)
    /// What other machines have left was looked for.
    let isExamined = Atomic(false)
    /// This machine's copy of the record is of this session.
    let isKept = Atomic(false)
    /// In a shared vault: it has no default access control list, as long as this machine has a lease of it.
    let lacksDefaultList = Atomic(false)
    /// Held while that is written. Lock order: docs/ARCHITECTURE.md.
    let keeping = Mutex<Void>(())
    /// Its record is another machine's copy of it.
    let isLent: Bool

    struct State {
        var record: DirectoryRecord
        var binding: NameBinding
        /// The record that it gets with the name to which a rename is about to move it.
        var pending: DirectoryRecord?
        /// Nil if the record is as new as what this machine has seen.
        var older: Older?
        /// The directory has been renamed, and its record for the new name is still the pending one. These folders must
        /// be durable before the pending record replaces the old one.
        var movedIn: [Descriptor] = []
        /// As `movedIn`, but the folders are not known any more.
        var isBetween = false
    }

    package init(
        descriptor: Descriptor, record: DirectoryRecord, binding: NameBinding, isLent: Bool = false
    ) {
        self.isLent = isLent
        self.descriptor = descriptor
        identifier = record.directory
        state = Mutex(State(record: record, binding: binding))
    }

    /// Whether the last listing has met a conflict copy, which has no name yet.
    public var hadConflictCopies: Bool { hasConflictCopies.load(ordering: .relaxed) }

    /// The ID, the class of what is created here, and whether that class was set explicitly.
    public var record: DirectoryRecord { state.withLock { $0.record } }
}

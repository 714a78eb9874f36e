import Format
import Posix
import Synchronization

/// An open directory of the vault whose record has been checked.
///
/// Keeps one descriptor open. Thread-safe.
public final class Directory: Sendable {
    package let descriptor: Descriptor
    public let identifier: DirectoryIdentifier
    /// Where the directory stands; changes when it is renamed.
    let state: Mutex<State>

    struct State {
        var record: DirectoryRecord
        var binding: NameBinding
        /// It has been renamed, and its record there is still the pending one: folders that must be durable before that
        /// can change.
        var movedIn: [Descriptor] = []
        /// Likewise, and those folders are not known any more.
        var isBetween = false
    }

    package init(descriptor: Descriptor, record: DirectoryRecord, binding: NameBinding) {
        self.descriptor = descriptor
        identifier = record.directory
        state = Mutex(State(record: record, binding: binding))
    }

    /// The ID, the class of what is created here, and whether it was set here.
    public var record: DirectoryRecord { state.withLock { $0.record } }
}

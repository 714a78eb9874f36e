import Format
import Posix

/// What programs may see anew after another program has changed a name in a backing folder.
public enum ForeignChange: Sendable {
    /// Nothing but the folder's own metadata.
    case nothing
    /// One entry, with the backing inode that it has now; nil if it is gone.
    case entry(Name, FileStatus?)
    /// The folder with all its entries.
    case folder
    /// A conflict copy has come, which is still to get a name.
    case conflictCopy
}

extension Vault {
    /// - Parameter stored: the name in the backing folder, of whatever kind.
    public func foreignChange(of stored: Name, in directory: Directory) -> ForeignChange {
        switch BackingName(stored.bytes) {
        case .entry:
            guard let name = plainName(of: stored, in: directory) else { return ofUnreadName(stored, in: directory) }
            return .entry(name, try? store.status(of: stored, in: directory.descriptor))
        // The sidecar that has the name may be gone.
        case .longEntry, .sidecar: return .folder
        case .reserved:
            if BackingName.machine(ofRecordCopy: stored.bytes) != nil { return ofRecordCopy(stored, in: directory) }
            return stored == .directoryRecord || stored == .newDirectoryRecord ? .folder : .nothing
        case .foreign: return ofUnreadName(stored, in: directory)
        case .temporary: return .nothing
        }
    }

    private func ofRecordCopy(_ stored: Name, in directory: Directory) -> ForeignChange {
        guard !isReadOnly, let machine = BackingName.machine(ofRecordCopy: stored.bytes),
            let copy = recordCopy(
                of: machine, at: directory.state.withLock { $0.binding }, in: directory.descriptor),
            copy.record.directory != directory.identifier
        else { return .nothing }
        return .conflictCopy
    }

    private func ofUnreadName(_ stored: Name, in directory: Directory) -> ForeignChange {
        guard !isReadOnly, original(ofConflictCopy: stored, in: directory) != nil,
            (try? store.status(of: stored, in: directory.descriptor)) != nil
        else { return .nothing }
        return .conflictCopy
    }
}

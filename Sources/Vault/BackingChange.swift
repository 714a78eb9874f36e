import Posix
import Store

/// The object in the backing folder whose own mode and owner are meant: an open file, or an entry of an open directory.
package enum BackingSubject: Sendable {
    case file(Descriptor)
    case entry(Name, in: Descriptor)
}

/// A change of the mode or the owner that the backing folder itself keeps.
enum BackingChange: Sendable {
    case setMode(UInt32, of: BackingSubject)
    /// Nil leaves the user or the group as it is.
    case setOwner(user: UInt32?, group: UInt32?, of: BackingSubject)

    func apply(to store: any Store) throws(Errno) {
        switch self {
        case .setMode(let mode, .file(let file)): try store.setMode(mode, of: file)
        case .setMode(let mode, .entry(let name, let folder)): try store.setMode(mode, of: name, in: folder)
        case .setOwner(let user, let group, .file(let file)):
            try store.setOwner(user: user, group: group, of: file)
        case .setOwner(let user, let group, .entry(let name, let folder)):
            try store.setOwner(user: user, group: group, of: name, in: folder)
        }
    }
}

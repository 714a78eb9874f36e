import Format
import Posix
import Store
import Synchronization

/// `lk.attributes`, the folder of sidecars of attributes, as far as this session knows it. A vault without it costs no
/// call to the store. Thread-safe.
final class AttributeFolder: Sendable {
    private enum State {
        /// This session has not looked yet.
        case unknown
        case absent
        case open(Descriptor)
        /// It is there, and cannot be used.
        case unusable(VaultError)
    }

    /// Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State.unknown)
    /// Held while a sidecar is read, changed and written. Lock order: docs/ARCHITECTURE.md.
    let changing = RecursiveLock()
    /// Grows with each sidecar that is written.
    let changes = Atomic<UInt64>(0)
    /// The name of the folder is durable.
    let isDurable = Atomic(false)

    /// The folder; nil if there is none.
    var descriptor: Descriptor? {
        get throws(VaultError) {
            switch state.withLock({ $0 }) {
            case .unknown, .absent: return nil
            case .open(let folder): return folder
            case .unusable(let error): throw error
            }
        }
    }

    /// Looks for the folder, unless this session has.
    func find(in store: any Store) {
        guard case .unknown = state.withLock({ $0 }) else { return }
        let found: State
        do throws(Errno) {
            found = .open(try store.open(.attributes, in: store.root, OpenFlags.directory, mode: 0))
        } catch {
            switch error {
            case .ENOENT: found = .absent
            case .ENOTDIR, .ELOOP: found = .unusable(.damaged("the folder of attributes is not a folder"))
            default: found = .unusable(.system(error))
            }
        }
        state.withLock { $0 = found }
    }

    func note(_ folder: Descriptor) { state.withLock { $0 = .open(folder) } }
}

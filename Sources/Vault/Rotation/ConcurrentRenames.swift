import Format
import Posix
import Synchronization

/// Records names that change during a walk of a key rotation: a listing misses an entry that moves past it.
///
/// A thread that renames or links notes it before and after. A walk has seen all files if it has looked at everything
/// noted here and no rename is under way. Thread-safe.
final class ConcurrentRenames: Sendable {
    struct Renamed: Sendable {
        let name: Name
        let parent: Directory
    }

    private struct Entry: Hashable {
        let name: Name
        let parent: DirectoryIdentifier
    }

    private struct State {
        var underWay = 0
        var isWatched = false
        var moved: [Entry: Directory] = [:]
        /// More has moved than can be kept: everything must be walked again.
        var hasLost = false
    }

    /// Each may keep a descriptor open.
    private static let most = 1024
    private let state = Mutex(State())

    /// Runs `body`, which changes names, and notes them afterwards, even if `body` fails and restores them.
    func noting<Result>(
        _ renamed: [Renamed], _ body: () throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        state.withLock { $0.underWay += 1 }
        defer {
            // The directories are released outside the lock.
            let full: [Entry: Directory] = state.withLock { state in
                state.underWay -= 1
                guard state.isWatched else { return [:] }
                for moved in renamed {
                    state.moved[Entry(name: moved.name, parent: moved.parent.identifier)] = moved.parent
                }
                guard state.moved.count > Self.most else { return [:] }
                defer { state.moved = [:] }
                state.hasLost = true
                return state.moved
            }
            withExtendedLifetime(full) {}
        }
        return try body()
    }

    /// Notes that everything must be walked again.
    func noteUnknown() { state.withLock { $0.hasLost = true } }

    /// Starts to record changes, for a new walk.
    func watch() {
        state.withLock { state in
            state.isWatched = true
            state.hasLost = false
        }
    }

    func stopWatching() {
        let left = state.withLock { state in
            defer { state.moved = [:] }
            state.isWatched = false
            return state.moved
        }
        withExtendedLifetime(left) {}
    }

    /// Takes a changed name that the walk must look at; nil if there is none.
    func next() -> Renamed? {
        state.withLock { state in
            guard let (entry, parent) = state.moved.popFirst() else { return nil }
            return Renamed(name: entry.name, parent: parent)
        }
    }

    /// Whether the walk has seen every change and none is under way.
    var areSeen: Bool { state.withLock { $0.underWay == 0 && $0.moved.isEmpty && !$0.hasLost } }
}

import Format
import Posix
import Synchronization

/// What gets another name while files are given new keys: a listing misses what moves past it.
///
/// Whoever moves something says so before and after. A walk has seen all files if it has looked at all that is in here,
/// and nothing is under way.
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
        /// There was more than is kept: all is to be looked at again.
        var hasLost = false
    }

    /// Each may keep a descriptor open.
    private static let most = 1024
    private let state = Mutex(State())

    /// Runs `body`, which gives something other names, also when it fails and takes that back.
    func noting<Result>(
        _ renamed: [Renamed], _ body: () throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        state.withLock { $0.underWay += 1 }
        defer {
            // Let go of outside the lock.
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

    /// All is to be looked at again.
    func noteUnknown() { state.withLock { $0.hasLost = true } }

    /// From now on what moves is kept, for a walk that begins.
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

    /// Something that has moved and is to be looked at; nil if there is nothing.
    func next() -> Renamed? {
        state.withLock { state in
            guard let (entry, parent) = state.moved.popFirst() else { return nil }
            return Renamed(name: entry.name, parent: parent)
        }
    }

    /// Whether nothing has moved past a walk, and nothing is about to.
    var areSeen: Bool { state.withLock { $0.underWay == 0 && $0.moved.isEmpty && !$0.hasLost } }
}

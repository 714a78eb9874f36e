import Fuse
import Glibc
import Posix
import Synchronization

/// The folders in which something was changed since this machine's copies of their records were written.
///
/// Another machine may have seen the copy that was written before a change, and not the change. If it removes the
/// folder, the copy goes as well, and what was changed is left without a record. So the copies are written once more
/// behind the changes: docs/FORMAT.md, "Synchronised vaults". Thread-safe.
final class ChangedFolders: Sendable {
    private let folders = Mutex<[NodeID: Node]>([:])
    private let end: Wakeup
    private let worker = Worker()

    /// Each change is followed by a copy after this time at most, or at the end.
    private static let delay = Duration.seconds(30)

    init() throws(Errno) { end = try Wakeup() }

    func note(_ folder: Node) { folders.withLock { $0[folder.id] = folder } }

    func take() -> [Node] {
        folders.withLock { folders in
            defer { folders = [:] }
            return Array(folders.values)
        }
    }

    /// Starts the thread that passes on what was noted.
    ///
    /// - Throws: why no thread can be made.
    func start(_ renew: @escaping @Sendable ([Node]) -> Void) throws(Errno) {
        try worker.start { [self] in
            while true {
                // Poll fails for lack of memory.
                if (try? Poll.readable([end.readable], timeout: Self.delay)) == nil { usleep(100_000) }
                let isEnding = end.clear()
                renew(take())
                if isEnding { return }
            }
        }
    }

    /// Passes on what is left, and ends the thread. No request comes any more.
    func stop() {
        end.signal()
        worker.join()
    }
}

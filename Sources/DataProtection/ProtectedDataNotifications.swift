internal import Control
import Dispatch
internal import Failure
internal import Posix
import Synchronization

/// The changes of one mount's lock, in their order, none left out: as `for try await` takes them, by one loop at a time.
///
/// It ends by throwing `mountEnded` when the daemon has ended, for then nobody tells of changes any more; without an error
/// when the task that listens is cancelled. The connection to the daemon lasts as long as this value and its iterators do.
public struct ProtectedDataNotifications: AsyncSequence, Sendable {
    public typealias Element = ProtectedDataNotification

    private let stream: AsyncThrowingStream<Element, any Error>

    public struct AsyncIterator: AsyncIteratorProtocol {
        private var base: AsyncThrowingStream<Element, any Error>.AsyncIterator
        /// The stream throws its error twice where it had elements left when it ended.
        private var hasThrown = false

        fileprivate init(_ base: AsyncThrowingStream<Element, any Error>.AsyncIterator) {
            self.base = base
        }

        public mutating func next() async throws -> Element? {
            if hasThrown { return nil }
            do {
                return try await base.next()
            } catch {
                hasThrown = true
                throw error
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(stream.makeAsyncIterator())
    }
}

extension ProtectedDataNotifications {
    /// Seconds that a daemon has to tell its state.
    private static let patience = 5

    /// Takes a connection over, and returns when the daemon has told its present state.
    ///
    /// A thread waits for the daemon, since the call for that blocks. It ends with the connection, and that with the
    /// stream.
    init(from client: ControlClient, path: String) throws(DataProtectionError) {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Element.self)
        self.stream = stream
        let progress = Progress()
        continuation.onTermination = { how in
            // Before the connection ends: the thread must not take that for the end of the mount, and be first to say so.
            if case .cancelled = how { progress.cancel() }
            client.disconnect()
        }
        let begun = DispatchSemaphore(value: 0)
        do {
            try startThread {
                let end: DataProtectionError
                do throws(Failure) {
                    try client.monitor { change in
                        if let old = progress.exchange(for: change.status.state) {
                            if let told = Element(from: old, to: change.status.state) { continuation.yield(told) }
                        } else {
                            begun.signal()
                        }
                        return true
                    }
                    end = .mountEnded(path: path)
                } catch .disconnected {
                    end = .mountEnded(path: path)
                } catch {
                    end = DataProtectionError(error)
                }
                continuation.finish(throwing: progress.isCancelled ? nil : end)
                begun.signal()
            }
        } catch {
            throw DataProtectionError(error, at: path)
        }
        guard begun.wait(timeout: .now() + .seconds(Self.patience)) == .success, progress.hasBegun else {
            client.disconnect()
            throw .noAnswer(reason: "it does not tell its state")
        }
    }
}

/// What the thread that waits for the daemon and the task that listens know of each other.
private final class Progress: Sendable {
    private struct State {
        var told: Status.State?
        var isCancelled = false
    }

    private let state = Mutex(State())

    var hasBegun: Bool { state.withLock { $0.told != nil } }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func cancel() {
        state.withLock { $0.isCancelled = true }
    }

    /// The state that the daemon told before; nil the first time.
    func exchange(for new: Status.State) -> Status.State? {
        state.withLock { state in
            defer { state.told = new }
            return state.told
        }
    }
}

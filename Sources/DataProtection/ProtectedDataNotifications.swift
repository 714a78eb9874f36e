internal import Control
import Dispatch
internal import Failure
internal import Posix
import Synchronization

/// The changes of one mount's lock, complete and in order, for `for try await` in one loop at a time.
///
/// It throws `mountEnded` when the daemon has ended, because no more changes can be reported; it ends without an error
/// when the listening task is cancelled. The connection to the daemon lasts as long as this value and its iterators.
public struct ProtectedDataNotifications: AsyncSequence, Sendable {
    public typealias Element = ProtectedDataNotification

    private let stream: AsyncThrowingStream<Element, any Error>

    public struct AsyncIterator: AsyncIteratorProtocol {
        private var base: AsyncThrowingStream<Element, any Error>.AsyncIterator
        /// The stream throws its error twice if it still had elements when it ended.
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
    /// The seconds in which a daemon must report its state.
    private static let patience = 5

    /// Takes over a connection, and returns when the daemon has reported its present state.
    ///
    /// A thread waits for the daemon, because that call blocks. It ends with the connection, which ends with the
    /// stream.
    init(from client: ControlClient, path: String) throws(DataProtectionError) {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Element.self)
        self.stream = stream
        let progress = Progress()
        continuation.onTermination = { how in
            // Before the connection ends, so that the thread does not report that as the end of the mount.
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

/// The state shared by the thread that waits for the daemon and the listening task.
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

    /// The state that the daemon reported before; nil the first time.
    func exchange(for new: Status.State) -> Status.State? {
        state.withLock { state in
            defer { state.told = new }
            return state.told
        }
    }
}

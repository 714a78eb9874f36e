internal import Control
import Dispatch
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
        continuation.onTermination = { _ in client.disconnect() }
        let begun = DispatchSemaphore(value: 0)
        let last = LastState()
        do {
            try startThread {
                do throws(ControlError) {
                    try client.monitor { change in
                        if let old = last.exchange(for: change.status.state) {
                            if let told = Element(from: old, to: change.status.state) { continuation.yield(told) }
                        } else {
                            begun.signal()
                        }
                        return true
                    }
                    continuation.finish(throwing: DataProtectionError.mountEnded(path: path))
                } catch .disconnected {
                    continuation.finish(throwing: DataProtectionError.mountEnded(path: path))
                } catch {
                    continuation.finish(throwing: DataProtectionError(error))
                }
                begun.signal()
            }
        } catch {
            throw DataProtectionError(error, at: path)
        }
        guard begun.wait(timeout: .now() + .seconds(Self.patience)) == .success, last.isKnown else {
            client.disconnect()
            throw .noAnswer(reason: "it does not tell its state")
        }
    }
}

/// The state that the daemon told last.
private final class LastState: Sendable {
    private let state = Mutex<Status.State?>(nil)

    var isKnown: Bool { state.withLock { $0 != nil } }

    func exchange(for new: Status.State) -> Status.State? {
        state.withLock { state in
            defer { state = new }
            return state
        }
    }
}

import Foundation
import Glibc
import Synchronization
import TestSupport

/// Aborts a mount when a test takes too long: a process that waits for an answer of its file system cannot even be
/// killed.
final class Watchdog: Sendable {
    private let isOver = Mutex(false)
    private let mountPoint: String
    private let limit: Double

    init(mountPoint: String, limit: Double) {
        self.mountPoint = mountPoint
        self.limit = limit
        // The connection's number is read now: a hanging mount may not answer later.
        let connection = FuseConnection(at: mountPoint)
        Thread.detachNewThread { [self] in
            let end = ContinuousClock.now + .seconds(limit)
            while ContinuousClock.now < end {
                if isOver.withLock({ $0 }) { return }
                usleep(50_000)
            }
            connection?.abort()
        }
    }

    func stop() {
        isOver.withLock { $0 = true }
    }
}

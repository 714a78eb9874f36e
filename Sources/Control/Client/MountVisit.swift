import Glibc
public import Posix
import Synchronization

/// Work with all mounts at once. What does not end in time goes on while its caller does other things.
///
/// Thread-safe.
public final class MountVisit: Sendable {
    private let left: Atomic<Int>
    private let next = Atomic(0)
    private let ended: Wakeup

    fileprivate init(_ count: Int) throws(Errno) {
        left = Atomic(count)
        ended = try Wakeup()
        if count == 0 { ended.signal() }
    }

    /// Waits until all is done; false if it is not in this time.
    public func wait(within time: Duration) -> Bool {
        _ = try? Poll.readable([ended.readable], timeout: time)
        return left.load(ordering: .sequentiallyConsistent) == 0
    }

    /// The number of the next piece of work; nil if there are no more.
    fileprivate func take(of count: Int) -> Int? {
        let index = next.add(1, ordering: .relaxed).oldValue
        return index < count ? index : nil
    }

    fileprivate func finish() {
        if left.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 { ended.signal() }
    }
}

extension SocketDirectories {
    /// Asks all daemons at once, and calls `body` with each mount as soon as its daemon has answered, on a thread that
    /// may wait. This user's mounts come first.
    ///
    /// - Throws: EMFILE or ENFILE. Then nothing was done, and the caller visits `mounts()` in turn.
    public func visit(_ body: @escaping @Sendable (ServedMount) -> Void) throws(Errno) -> MountVisit {
        let places = sockets
        let visit = try MountVisit(places.count)
        let work: @Sendable () -> Void = {
            while let index = visit.take(of: places.count) {
                if let mount = try? places[index].folder.mount(at: places[index].path).get() { body(mount) }
                visit.finish()
            }
        }
        for count in 0..<min(places.count, Self.threads) {
            do throws(Errno) { try startThread(work) } catch {
                // Without any thread the caller does it all.
                if count == 0 { work() }
                break
            }
        }
        return visit
    }
}

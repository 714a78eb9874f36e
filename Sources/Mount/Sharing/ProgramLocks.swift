import Fuse
import Posix
import Synchronization
import Vault

/// The locks that programs take by fcntl(2) and flock(2), as locks of the backing files, which programs on other
/// machines see.
///
/// Each owner's locks of a file belong to an open file of its own. Thread-safe.
final class ProgramLocks: Sendable {
    /// Programs lock bytes below this one. The byte itself is what flock(2) locks.
    private static let limit: Int64 = 1 << 62
    /// Between two attempts to get a lock that a program waits for.
    private static let pause = Duration.milliseconds(50)

    private struct Key: Hashable {
        let node: NodeID
        let owner: LockOwner
        let isOfWholeFile: Bool
    }

    private struct Waiting: Sendable {
        let node: NodeID
        let lock: LockRequest
        let reply: OwedReply<Done>
    }

    private struct State {
        var files: [Key: Descriptor] = [:]
        var waiting: [Waiting] = []
        var isStopped = false
    }

    private let base: VaultFileSystem
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Monitor(State())
    private let worker = Worker()

    init(_ base: VaultFileSystem) { self.base = base }

    func start() throws(Errno) { try worker.start { [self] in run() } }

    /// Ends the waiting for locks, and gives all up.
    func stop() {
        let waiting = state.withLock { state in
            state.isStopped = true
            state.files = [:]
            defer { state.waiting = [] }
            return state.waiting
        }
        state.wakeAll()
        for each in waiting { each.reply.fail(.ENOTCONN) }
        worker.join()
    }

    // MARK: Requests

    func lock(_ node: NodeID, _ lock: LockRequest, reply: consuming Reply<Done>) {
        do throws(Errno) {
            if try take(lock, of: node) {
                reply.succeed()
                return
            }
        } catch { return reply.fail(error) }
        guard lock.waits else { return reply.fail(.EAGAIN) }
        let owed = OwedReply(reply)
        let isAdded = state.withLock { state in
            if !state.isStopped { state.waiting.append(Waiting(node: node, lock: lock, reply: owed)) }
            return !state.isStopped
        }
        if isAdded { state.wakeAll() } else { owed.fail(.ENOTCONN) }
    }

    func obstacle(
        _ node: NodeID, to kind: RangeLock, of range: ByteRange, owner: LockOwner,
        reply: consuming Reply<FoundLock?>
    ) {
        let found: FoundLock?
        do throws(Errno) {
            let range = try Self.clamped(range)
            let file = try file(Key(node: node, owner: owner, isOfWholeFile: false))
            // The byte of flock(2) is in no such range.
            found = try base.vault.store(obstacleTo: kind, of: range, in: file).map { kind, range in
                FoundLock(kind: kind, range: ByteRange(range.start, until: Self.unclamped(range.end)) ?? range)
            }
        } catch { return reply.fail(error) }
        reply.succeed(found)
    }

    /// A process has closed the file: by fcntl(2), all its locks of it end.
    func giveUp(_ owner: LockOwner, of node: NodeID) {
        close(Key(node: node, owner: owner, isOfWholeFile: false))
    }

    func giveUpWhole(_ owner: LockOwner, of node: NodeID) {
        close(Key(node: node, owner: owner, isOfWholeFile: true))
    }

    /// A program was sent a signal.
    func interrupted() { state.wakeAllForLimit() }

    // MARK: Locks

    private static func clamped(_ range: ByteRange) throws(Errno) -> ByteRange {
        if range.end == .max, let all = ByteRange(range.start, until: limit) { return all }
        guard range.end <= limit else { throw .EOVERFLOW }
        return range
    }

    private static func unclamped(_ end: Int64) -> Int64 { end == limit ? .max : end }

    private func file(_ key: Key) throws(Errno) -> Descriptor {
        if let known = state.withLock({ $0.files[key] }) { return known }
        let fresh: Descriptor
        do throws(VaultError) {
            fresh = try base.vault.openForLocks(try base.openFile(of: try base.node(key.node)))
        } catch { throw error.errno }
        return state.withLock { state in
            if let known = state.files[key] { return known }
            if !state.isStopped { state.files[key] = fresh }
            return fresh
        }
    }

    /// False if another owner's lock is in the way.
    private func take(_ lock: LockRequest, of node: NodeID) throws(Errno) -> Bool {
        let key = Key(node: node, owner: lock.owner, isOfWholeFile: lock.isOfWholeFile)
        let range = lock.isOfWholeFile ? ByteRange(byte: Self.limit) : try Self.clamped(lock.range)
        guard let kind = lock.kind else {
            // What another program may do then must not come before what this one has written.
            guard let known = state.withLock({ $0.files[key] }) else { return true }
            _ = try base.vault.store(lock: range, nil, of: known)
            if lock.isOfWholeFile { close(key) }
            return true
        }
        return try base.vault.store(lock: range, kind, of: file(key))
    }

    private func close(_ key: Key) {
        guard let file = state.withLock({ $0.files.removeValue(forKey: key) }) else { return }
        // The store may learn of close(2) later.
        _ = try? base.vault.store(lock: ByteRange(0, until: .max)!, nil, of: file)
    }

    // MARK: Waiting

    private func run() {
        while true {
            let waiting = state.wait { state -> [Waiting]? in
                if state.isStopped { return [] }
                return state.waiting.isEmpty ? nil : state.waiting
            }
            if waiting.isEmpty { return }
            var done: [ObjectIdentifier: Bool] = [:]
            for each in waiting { done[ObjectIdentifier(each.reply)] = tryAgain(each) }
            state.withLock { state in
                state.waiting.removeAll { done[ObjectIdentifier($0.reply)] == true }
            }
            let end = MonotonicClock.now + Self.pause
            _ = state.wait(atMost: { end - MonotonicClock.now }) { $0.isStopped ? () : nil }
        }
    }

    /// Whether the program has its answer.
    private func tryAgain(_ waiting: Waiting) -> Bool {
        if waiting.reply.isInterrupted {
            waiting.reply.fail(.EINTR)
            return true
        }
        do throws(Errno) {
            guard try take(waiting.lock, of: waiting.node) else { return false }
            waiting.reply.take()?.succeed()
        } catch { waiting.reply.fail(error) }
        return true
    }
}

import Format
import Posix
import Synchronization

/// The last times, in seconds, of backing files that have lost their names: a copy of the vault may have such a file
/// under its name still, so the next one of that name gets a later time. Thread-safe.
///
/// Only times that the clock has not reached yet are kept: docs/FORMAT.md, "Times". A session begins without any.
final class SeenTimes: Sendable {
    private static let most = 1 << 16

    private struct State {
        var times: [NameBinding: Int64] = [:]
        /// For all other names: the latest of those that had to be forgotten.
        var floor = Int64.min
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())

    func note(_ time: Int64, at binding: @autoclosure () -> NameBinding) {
        let now = Timespec.now.seconds
        // What is a day ahead comes from another clock.
        guard (now - 2..<now + FileHeader.foreignStamp).contains(time) else { return }
        let binding = binding()
        state.withLock { state in
            state.times[binding] = max(time, state.times[binding] ?? time)
            guard state.times.count > Self.most else { return }
            state.times = state.times.filter { $0.value >= now - 2 }
            guard state.times.count > Self.most / 2 else { return }
            state.floor = max(state.floor, state.times.values.max() ?? state.floor)
            state.times = [:]
        }
    }

    /// The last time that a file of this name had; nil if any new one is later.
    func last(at binding: NameBinding) -> Int64? {
        let now = Timespec.now.seconds
        return state.withLock { state -> Int64? in
            let last = max(state.times[binding] ?? .min, state.floor)
            return last >= now - 2 ? last : nil
        }
    }
}

extension Vault {
    /// The last second that a copy may have seen of a backing file. While it is being written to, the stamp of its last
    /// header may be ahead of its time.
    func lastTime(of status: FileStatus) -> Int64 {
        guard let file = files.file(ofInode: status.inode) else { return status.modified.seconds }
        return max(status.modified.seconds, file.lock.withShared { file.state.durable.placed.stamp })
    }

    func timeSeen(of status: FileStatus) -> Timespec { Timespec(seconds: lastTime(of: status), nanoseconds: 0) }

    /// A regular file is losing a name.
    func noteTime(of status: FileStatus, at name: Name, in parent: Directory) {
        order.seenTimes.note(lastTime(of: status), at: binding(of: name, in: parent))
    }
}

extension File {
    /// The file is getting a name: its next header has a later time than what had the name before.
    func passTime(at binding: NameBinding) {
        guard let last = vault.order.seenTimes.last(at: binding) else { return }
        lock.withExclusive { state.durable.pass(stamp: last) }
    }
}

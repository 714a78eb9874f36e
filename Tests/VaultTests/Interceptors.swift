import Glibc
import Posix
import Store
import Synchronization
import TestStores
import Testing

@testable import Vault

// Hooks in the middle of what the vault does to its store.

/// Keeps the header that a backing file has at the first flush.
final class BytesAtFlush: Interceptor {
    private let state = Mutex<(path: String?, header: [UInt8]?)>((nil, nil))

    var header: [UInt8]? { state.withLock { $0.header } }

    func watch(_ path: String) { state.withLock { $0 = (path, nil) } }

    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        if operation.kind == .synchronize || operation.kind == .synchronizeAll {
            state.withLock { state in
                guard let path = state.path, state.header == nil else { return }
                state.header = (try? Descriptor.open(path: Path(path), O_RDONLY).bytes(atMost: 1 << 20)).map {
                    Array($0.prefix(512))
                }
            }
        }
        return try proceed()
    }
}

/// Acts right after a flush during which the file is not locked, where other threads could act.
final class ActsDuringFlushes: Interceptor {
    private struct State {
        var file: File?
        var act: (@Sendable () throws -> Void)?
        var isActing = false
        var flushes = 0
        var failure: (any Error)?
    }

    private let state = Mutex(State())

    /// The number of flushes in an earlier run of the same steps.
    private let known: Int

    init(known: Int = 0) { self.known = known }

    private var flushes: Int { state.withLock { $0.flushes } }
    /// The greatest number of flushes seen: a run may make fewer.
    var most: Int { max(known, flushes) }
    /// The error that the act threw.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Acts after each flush from now on.
    func duringFlushes(of file: File, _ act: @escaping @Sendable () throws -> Void) {
        state.withLock { ($0.file, $0.act, $0.flushes) = (file, act, 0) }
    }

    func stop() { state.withLock { ($0.file, $0.act) = (nil, nil) } }

    /// Acts after the `nth` flush from now on, counted from 1.
    func during(_ nth: Int, of file: File, _ act: @escaping @Sendable () throws -> Void) {
        duringFlushes(of: file) { if self.flushes == nth { try act() } }
    }

    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let result = try proceed()
        guard operation.kind == .synchronize || operation.kind == .synchronizeAll else { return result }
        let (file, isActing) = state.withLock { ($0.file, $0.isActing) }
        guard let file, !isActing, file.lock.tryLockExclusive() else { return result }
        file.lock.unlockExclusive()
        let act = state.withLock { state in
            state.flushes += 1
            state.isActing = true
            return state.act
        }
        do { try act?() } catch { state.withLock { $0.failure = $0.failure ?? error } }
        state.withLock { $0.isActing = false }
        return result
    }
}

/// Acts before a name is removed, if the file is not locked then.
final class ActsBeforeNames: Interceptor {
    private let act = Mutex<(file: File, run: @Sendable () throws -> Void)?>(nil)

    func next(of file: File, _ run: @escaping @Sendable () throws -> Void) { act.withLock { $0 = (file, run) } }

    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        guard operation.kind == .rename || operation.kind == .unlink else { return try proceed() }
        let act = act.withLock { act in
            defer { act = nil }
            return act
        }
        if let act, act.file.lock.tryLockExclusive() {
            act.file.lock.unlockExclusive()
            do { try act.run() } catch { Issue.record(error) }
        }
        return try proceed()
    }
}

/// Notes which inodes are flushed, and acts before the first flush returns.
final class FlushedInodes: Interceptor {
    private struct State {
        var inodes: [UInt64] = []
        var act: (@Sendable () throws -> Void)?
        /// The inode whose flush it waits for; nil for any.
        var awaited: UInt64?
    }

    private let state = Mutex(State())

    var inodes: [UInt64] { state.withLock { $0.inodes } }

    func beforeTheNext(of inode: UInt64? = nil, _ act: @escaping @Sendable () throws -> Void) {
        state.withLock { ($0.inodes, $0.act, $0.awaited) = ([], act, inode) }
    }

    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        guard case .change(.synchronize(let file, _)) = operation else { return try proceed() }
        let inode = try store.status(of: file).inode
        let act = state.withLock { state -> (@Sendable () throws -> Void)? in
            guard state.awaited == nil || state.awaited == inode else { return nil }
            defer { state.act = nil }
            return state.act
        }
        do { try act?() } catch { Issue.record(error) }
        let result = try proceed()
        state.withLock { $0.inodes.append(inode) }
        return result
    }
}

/// NFS has no RENAME_NOREPLACE.
final class Replacing: Interceptor {
    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Posix.Errno) -> Result
    ) throws(Posix.Errno) -> Result {
        if case .change(.rename(_, _, _, _, let flags)) = operation, flags != 0 { throw .EINVAL }
        return try proceed()
    }
}

/// Counts the calls to a store.
final class CallCounter: Interceptor {
    private let kinds = Mutex<[Operation.Kind]>([])

    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        kinds.withLock { $0.append(operation.kind) }
        return try proceed()
    }

    /// The calls that `body` makes, by kind.
    func calls(_ body: () throws -> Void) rethrows -> [Operation.Kind: Int] {
        kinds.withLock { $0 = [] }
        try body()
        return kinds.withLock { $0.reduce(into: [:]) { $0[$1, default: 0] += 1 } }
    }
}

/// A store without user attributes, or with small ones.
final class FewAttributes: Interceptor {
    /// The largest value that the store takes, in bytes; nil for a store without attributes.
    private let limit: Mutex<Int?>

    init(upTo limit: Int? = nil) { self.limit = Mutex(limit) }

    /// As if the vault was moved to another store.
    func take(upTo limit: Int?) { self.limit.withLock { $0 = limit } }

    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let limit = limit.withLock { $0 }
        switch operation.kind {
        case .attribute, .attributeNames, .removeAttribute:
            if limit == nil { throw .EOPNOTSUPP }
        case .setAttribute:
            guard let limit else { throw .EOPNOTSUPP }
            if case .change(.setAttribute(_, let value, _, _)) = operation, value.count > limit { throw .ENOSPC }
        default: break
        }
        return try proceed()
    }
}

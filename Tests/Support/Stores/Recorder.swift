import Glibc
public import Posix
public import Store
import Synchronization

/// The record of a `RecordingStore`. It holds only changes that succeeded.
///
/// A failure that has a partial effect belongs above it: a `FaultInjectingStore` over a `RecordingStore` has the half
/// of a write that happened recorded.
public final class Recorder: Interceptor {
    private struct State {
        var records: [Record]
        var inodes: InodeTable
    }

    /// Held exclusively during a whole change, so that the record has the true order. Taken before `state`.
    private let order = ReadWriteLock()
    private let state: Mutex<State>

    /// The number of records that make the store's contents at the beginning, the flush after them included.
    public let foundCount: Int

    /// Reads the whole store, which from then on changes only through this recorder.
    init(_ store: any Store) throws(Errno) {
        var inventory = try Inventory(of: store)
        inventory.records.append(Record(.synchronizeAll))
        foundCount = inventory.records.count
        state = Mutex(State(records: inventory.records, inodes: inventory.inodes))
    }

    /// A copy of all records so far.
    public var records: [Record] { state.withLock { $0.records } }

    /// The number of records so far. Taken when a promise is given, it tells which records come before that.
    public var count: Int { state.withLock { $0.records.count } }

    public func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        guard operation.isChange else { return try proceed() }
        return try order.withExclusive { () throws(Errno) in
            switch operation {
            case .open(let name, let directory, let flags, let mode):
                let existed = try store.exists(name, in: directory)
                let result = try proceed()
                if !existed {
                    try append(.create(name, in: directory, mode: mode), on: store)
                } else if flags & O_TRUNC != 0 {
                    let file = try inode(try store.status(of: name, in: directory))
                    state.withLock { $0.records.append(Record(.truncate(file, to: 0))) }
                }
                return result
            case .change(let change):
                let result = try proceed()
                try append(change, on: store)
                return result
            case .inspect:
                return try proceed()
            }
        }
    }

    private func append(_ change: Change<Descriptor>, on store: any Store) throws(Errno) {
        let recorded = try change.map { file throws(Errno) in try inode(try store.status(of: file)) }
        let made: FileStatus? =
            switch change {
            case .create(let name, let directory, _), .makeDirectory(let name, let directory, _),
                .makeNode(let name, let directory, _, _), .makeSymbolicLink(_, let name, let directory):
                try store.status(of: name, in: directory)
            default: nil
            }
        state.withLock { state in
            state.records.append(Record(recorded, made: made.map { state.inodes.add($0) }))
        }
    }

    /// ESTALE if the file was made behind the recorder's back.
    private func inode(_ status: FileStatus) throws(Errno) -> RecordedInode {
        guard let inode = state.withLock({ $0.inodes[status] }) else { throw .ESTALE }
        return inode
    }
}

/// Maps the store's inodes to the record's.
struct InodeTable {
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    private var inodes: [Identity: RecordedInode] = [:]
    private var next = 0

    subscript(status: FileStatus) -> RecordedInode? {
        inodes[Identity(device: status.device, inode: status.inode)]
    }

    /// Gives a new file a new identity, also when the store reuses the inode number of a removed one.
    mutating func add(_ status: FileStatus) -> RecordedInode {
        let inode = RecordedInode(number: next)
        next += 1
        inodes[Identity(device: status.device, inode: status.inode)] = inode
        return inode
    }
}

extension Store {
    fileprivate func exists(_ name: Name, in directory: Descriptor) throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try status(of: name, in: directory)
            return true
        } catch .ENOENT {
            return false
        }
    }
}

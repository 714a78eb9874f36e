import Fuse
import Posix
import Synchronization

/// The open files or directories of one kind.
final class HandleTable<Open: Sendable>: Sendable {
    private struct State {
        var opens: [HandleID: Open] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.opens.count } }

    var all: [Open] { state.withLock { Array($0.opens.values) } }

    func insert(_ open: Open) -> HandleID {
        state.withLock { state in
            state.last += 1
            let id = HandleID(rawValue: state.last)
            state.opens[id] = open
            return id
        }
    }

    subscript(id: HandleID) -> Open {
        get throws(Errno) {
            guard let open = state.withLock({ $0.opens[id] }) else { throw .EBADF }
            return open
        }
    }

    func removeAll() {
        let removed = state.withLock { state in
            defer { state.opens = [:] }
            return state.opens
        }
        withExtendedLifetime(removed) {}
    }

    func remove(_ id: HandleID) {
        let removed = state.withLock { $0.opens.removeValue(forKey: id) }
        withExtendedLifetime(removed) {}
    }
}

/// An open directory: what it held when it was opened or rewound last, so that offsets stay where they are.
final class OpenDirectory: Sendable {
    private let directory: Descriptor
    private let snapshot = Mutex<[DirectoryEntry]?>(nil)

    init(_ directory: Descriptor) {
        self.directory = directory
    }

    func entries(from offset: Int64) throws(Errno) -> ArraySlice<DirectoryEntry> {
        let all = try snapshot.withLock { snapshot throws(Errno) in
            if offset > 0, let entries = snapshot { return entries }
            let status = try directory.status()
            var entries = [".", ".."].map { DirectoryEntry(name: $0, inode: status.inode, kind: .directory) }
            entries += try directory.entries()
            snapshot = entries
            return entries
        }
        return all[min(Int(offset), all.count)...]
    }
}

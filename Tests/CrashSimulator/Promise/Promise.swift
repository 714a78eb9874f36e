import Format
import TestStores

/// The oracle: what must be found after a crash, whatever the disk made of it.
///
/// Synced data are there. Data that were not synced are as before or after each unfinished change, and each change of
/// names, of a class or of a directory has happened or not. The promise follows a ledger from crash to crash.
public struct Promise: Sendable {
    let ledger: Ledger
    /// The durable names, without contents.
    var durable = DiskImage()
    /// Changes of names that may not be durable, the oldest first.
    var pending: [PendingName] = []
    var files: [RecordedInode: FileHistory] = [:]
    var protections: [RecordedInode: ProtectionHistory] = [:]
    private var next = 0
    /// Counts the acts.
    private var time = 0

    struct PendingName: Sendable {
        let change: NameChange
        /// The class that the file has at its new name.
        var takes: Protection?
        /// When the change happened, in the order of acts.
        let time: Int
        /// Whether this is the name under which the inode was made.
        let isFirst: Bool
    }

    /// The protection of a file or directory: the durable one, and the changes since with their times.
    struct ProtectionHistory: Sendable {
        var durable: Protection
        var pending: [(time: Int, protection: Protection)] = []

        /// The protection of the running system.
        var current: Protection { pending.last?.protection ?? durable }
    }

    /// - Parameter root: the root's protection.
    public init(_ ledger: Ledger, root: Protection) {
        self.ledger = ledger
        protections[.root] = ProtectionHistory(durable: root)
    }

    /// Applies all acts that were acknowledged before record `crash`. Only forwards.
    public mutating func advance(to crash: Int) {
        while next < ledger.entries.count, ledger.entries[next].end <= crash {
            apply(ledger.entries[next].act, isAcknowledged: true)
            next += 1
        }
    }

    /// The promise with the acts applied that had begun before record `crash` and were not acknowledged.
    public func during(_ crash: Int) -> Promise {
        var promise = self
        for entry in ledger.entries[next...].prefix(while: { $0.begin < crash }) {
            promise.apply(entry.act, isAcknowledged: false)
        }
        return promise
    }

    // MARK: Acts

    private mutating func apply(_ act: Ledger.Act, isAcknowledged: Bool) {
        time += 1
        switch act {
        case .makeFile(let slot, let inode, let protection):
            files[inode] = FileHistory()
            add(inode, .regular, protection, at: slot)
        case .makeDirectory(let slot, let inode, let protection): add(inode, .directory, protection, at: slot)
        case .makeSymbolicLink(let slot, let inode, let target):
            add(inode, .symbolicLink(target: target), nil, at: slot)
        case .link(let slot, let inode): change(.add(slot, inode))
        case .remove(let slot, let inode): change(.remove(slot, inode))
        case .rename(let old, let new, let inode, let replaced, let protection):
            change(.move(old, to: new, inode, replaced.map { .happened($0) } ?? .allowed), taking: protection)
        case .exchange(let one, let inode, let other, let otherInode):
            change(.exchange(one, inode, with: other, otherInode))
        case .write(let inode, let bytes, let offset): files[inode]!.write(bytes, at: offset)
        case .truncate(let inode, let size): files[inode]!.truncate(to: size)
        case .found(let inode, let bytes): files[inode]!.found(bytes)
        case .protect(let inode, let protection): protections[inode]!.pending.append((time, protection))
        case .synchronize(let inode, let dataOnly):
            guard isAcknowledged else { return }
            if files[inode] != nil, !dataOnly { persistNames(of: inode) }
            synchronize(inode)
        case .synchronizeAll: if isAcknowledged { synchronizeAll() }
        }
    }

    private mutating func add(
        _ inode: RecordedInode, _ kind: DiskImage.Kind, _ protection: Protection?, at slot: Slot
    ) {
        durable.inodes[inode] = DiskImage.Inode(kind, mode: 0)
        if let protection { protections[inode] = ProtectionHistory(durable: protection) }
        change(.add(slot, inode), isFirst: true)
    }

    private mutating func change(_ change: NameChange, taking protection: Protection? = nil, isFirst: Bool = false) {
        pending.append(PendingName(change: change, takes: protection, time: time, isFirst: isFirst))
    }

    private mutating func synchronize(_ inode: RecordedInode) {
        if files[inode] != nil {
            files[inode]!.synchronize()
        } else {
            persistEntries(of: inode)
        }
        // A class that a new name brings stays with that name.
        if !pending.contains(where: { $0.takes != nil && $0.change.inodes.contains(inode) }) {
            protections[inode]!.durable = protections[inode]!.current
            protections[inode]!.pending = []
        }
    }

    private mutating func synchronizeAll() {
        for index in pending.indices { persist(pending[index]) }
        pending = []
        for inode in files.keys { files[inode]!.synchronize() }
        for inode in protections.keys {
            protections[inode]!.durable = protections[inode]!.current
            protections[inode]!.pending = []
        }
    }

    private mutating func persist(_ name: PendingName) {
        let happened = durable.apply(name.change)
        precondition(happened, "the ledger does not follow")
        if let taken = name.takes, case .move(_, _, let inode, _) = name.change {
            protections[inode]!.durable = taken
            protections[inode]!.pending.removeAll { $0.time <= name.time }
        }
    }

    /// Persists all changes of names in a directory.
    private mutating func persistEntries(of directory: RecordedInode) {
        persist { $0.change.slots.contains { $0.directory == directory } }
    }

    /// Persists the changes that gave a file another name or removed one of several names.
    private mutating func persistNames(of file: RecordedInode) {
        persist { name in
            switch name.change {
            case .add(_, file): !name.isFirst
            case .move(_, _, file, _), .exchange(_, file, _, _), .exchange(_, _, _, file): true
            default: false
            }
        }
    }

    /// Persists the wanted changes, with earlier ones of the same names.
    private mutating func persist(_ isWanted: (PendingName) -> Bool) {
        var slots: Set<Slot> = []
        var directories: Set<RecordedInode> = []
        var due: Set<Int> = []
        for index in pending.indices.reversed() {
            let change = pending[index].change
            guard
                isWanted(pending[index])
                    || change.slots.contains(where: { slots.contains($0) || directories.contains($0.directory) })
            else { continue }
            due.insert(index)
            slots.formUnion(change.slots)
            if let removed = change.removed { directories.insert(removed) }
        }
        for index in due.sorted() { persist(pending[index]) }
        pending = pending.indices.filter { !due.contains($0) }.map { pending[$0] }
    }
}

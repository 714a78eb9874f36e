import Posix
public import TestStores

/// A disk under a file system, driven by the records of a store: what is durable, and what a power loss may leave of
/// the pending changes.
///
/// There are two models of the backing file system. In both, each sector of a file's contents, and each change of its
/// length by a write, reaches the disk at any time until the file is flushed.
public struct SimulatedDisk: Sendable {
    public enum Order: String, Sendable, CaseIterable {
        /// As ext4 and XFS: changes of metadata become durable in their order. A flush of a file makes all of them
        /// durable up to the last one of that file.
        case ordered
        /// No more than POSIX asks: any subset of the changes of metadata that is possible. A flush of a file makes its
        /// contents and its inode durable, a flush of a directory its entries.
        case unordered
    }

    public let order: Order
    /// Ignores flushes, as a lying disk does. To be believed, the simulator must find the damage.
    public var ignoresFlushes = false

    var durable = DiskImage()
    /// Changes of metadata that may not be durable, the oldest first.
    var pending: [MetadataChange] = []
    /// Contents that may not be durable.
    var files: [RecordedInode: PendingContents] = [:]
    /// The names as the running system sees them.
    private var live = DiskImage()

    struct MetadataChange: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case names(NameChange)
            case inode(RecordedInode, InodeChange)
            /// The resize step of a file's pending contents; only where metadata is ordered.
            case resize(RecordedInode, step: Int)
        }

        let kind: Kind

        /// The inodes that the change touches, directories included.
        var inodes: [RecordedInode] {
            switch kind {
            case .names(let change): change.slots.map(\.directory) + change.inodes
            case .inode(let inode, _), .resize(let inode, _): [inode]
            }
        }
    }

    public init(order: Order) {
        self.order = order
    }

    /// A disk on which all of these records are durable.
    public init(order: Order, holding records: some Sequence<Record>) {
        self.init(order: order)
        for record in records { appendDurably(record) }
    }

    // MARK: What happens

    /// Applies one more record. Traps if the disk's present state does not allow it, such as a name that is missing.
    public mutating func append(_ record: Record) {
        switch record.change {
        case .create(let name, let directory, let mode):
            add(name, in: directory, record.made!, DiskImage.Inode(.regular, mode: mode))
        case .makeDirectory(let name, let directory, let mode):
            add(name, in: directory, record.made!, DiskImage.Inode(.directory, mode: mode))
        case .makeSymbolicLink(let target, let name, let directory):
            add(name, in: directory, record.made!, DiskImage.Inode(.symbolicLink(target: target), mode: 0o777))
        case .makeNode(let name, let directory, let mode, let device):
            let kind: DiskImage.Kind =
                FileKind(mode: mode) == .regular ? .regular : .special(mode: mode, device: device)
            add(name, in: directory, record.made!, DiskImage.Inode(kind, mode: mode & 0o7777))
        case .link(let old, let directory, let new, let newDirectory):
            change(.add(Slot(new, in: newDirectory), live[Slot(old, in: directory)]!))
        case .unlink(let name, let directory), .removeDirectory(let name, let directory):
            let slot = Slot(name, in: directory)
            change(.remove(slot, live[slot]!))
        case .rename(let old, let directory, let new, let newDirectory, let flags):
            rename(Slot(old, in: directory), to: Slot(new, in: newDirectory), flags)
        case .write(let bytes, let file, let offset):
            stamp(file, nil)
            changeContents(of: file) { $0.write(bytes, at: Int(offset)) }
        case .truncate(let file, let size):
            resize(file, to: Int(size))
            stamp(file, nil)
        case .allocate(let file, let mode, let offset, let length):
            allocate(file, mode, Int(offset), Int(length))
            stamp(file, nil)
        case .setMode(let mode, let subject): change(.mode(mode), of: subject)
        case .setOwner(let user, let group, let subject): change(.owner(user: user, group: group), of: subject)
        case .setTimes(_, let modified, let subject): setTime(modified, of: inode(of: subject))
        case .setAttribute(let name, let value, _, let file): change(.attribute(name, value), of: .file(file))
        case .removeAttribute(let name, let file): change(.attribute(name, nil), of: .file(file))
        case .synchronize(let file, let dataOnly):
            if !ignoresFlushes { persist(file, dataOnly: dataOnly) }
        case .synchronizeAll:
            if !ignoresFlushes { persistEverything() }
        }
    }

    /// The same, and durable at once. Nothing may be pending.
    mutating func appendDurably(_ record: Record) {
        switch record.change {
        case .write(let bytes, let file, let offset):
            let end = Int(offset) + bytes.count
            if end > durable.inodes[file]!.bytes.count { durable.inodes[file]!.bytes.resize(to: end) }
            durable.inodes[file]!.bytes.overwrite(at: Int(offset), with: bytes[...])
            stampDurably(file)
        case .truncate(let file, let size):
            durable.inodes[file]!.bytes.resize(to: Int(size))
            stampDurably(file)
        default:
            append(record)
            persistEverything()
        }
    }

    private func size(of file: RecordedInode) -> Int { files[file]?.size ?? durable.inodes[file]!.bytes.count }

    private mutating func changeContents(of file: RecordedInode, _ change: (inout PendingContents) -> Void) {
        let fresh = PendingContents(over: durable.inodes[file]!.bytes)
        change(&files[file, default: fresh])
    }

    private mutating func add(
        _ name: Name, in directory: RecordedInode, _ made: RecordedInode, _ inode: DiskImage.Inode
    ) {
        durable.inodes[made] = inode
        live.inodes[made] = inode
        change(.add(Slot(name, in: directory), made))
    }

    private mutating func change(_ change: NameChange) {
        let happened = live.apply(change)
        precondition(happened, "the record is not one that can follow: \(change)")
        pending.append(MetadataChange(kind: .names(change)))
    }

    private func inode(of subject: Change<RecordedInode>.Subject) -> RecordedInode {
        switch subject {
        case .file(let file): file
        case .entry(let name, let directory): live[Slot(name, in: directory)]!
        }
    }

    private mutating func change(_ change: InodeChange, of subject: Change<RecordedInode>.Subject) {
        pending.append(MetadataChange(kind: .inode(inode(of: subject), change)))
    }

    private mutating func setTime(_ modified: TimeChange, of inode: RecordedInode) {
        switch modified {
        case .keep: break
        case .at(let time) where time.nanoseconds == 0: stamp(inode, time)
        case .at, .now: stamp(inode, nil)
        }
    }

    /// A change to the same value is left out, so that there are fewer states.
    private mutating func stamp(_ inode: RecordedInode, _ stamp: Timespec?) {
        guard live.inodes[inode]!.kind == .regular, live.inodes[inode]!.stamp != stamp else { return }
        live.inodes[inode]!.stamp = stamp
        pending.append(MetadataChange(kind: .inode(inode, .stamp(stamp))))
    }

    private mutating func stampDurably(_ file: RecordedInode) {
        durable.inodes[file]!.stamp = nil
        live.inodes[file]!.stamp = nil
    }

    private mutating func rename(_ old: Slot, to new: Slot, _ flags: UInt32) {
        let inode = live[old]!
        let target = live[new]
        // If both names are links of one file, rename(2) does nothing.
        if target == inode { return }
        if flags & RenameFlag.exchange != 0 {
            change(.exchange(old, inode, with: new, target!))
        } else {
            precondition(flags & ~RenameFlag.noReplace == 0, "a flag of rename that the model does not know")
            let replacement: NameChange.Replacement =
                if let target { .happened(target) } else { flags == 0 ? .allowed : .forbidden }
            change(.move(old, to: new, inode, replacement))
        }
    }

    private mutating func resize(_ file: RecordedInode, to size: Int) {
        guard size != self.size(of: file) else { return }
        changeContents(of: file) { $0.resize(to: size) }
        if order == .ordered {
            pending.append(MetadataChange(kind: .resize(file, step: files[file]!.steps.count)))
        }
    }

    private mutating func allocate(_ file: RecordedInode, _ mode: Int32, _ offset: Int, _ length: Int) {
        let size = size(of: file)
        switch mode {
        case AllocateFlag.keepSize: break
        case 0: if offset + length > size { resize(file, to: offset + length) }
        case AllocateFlag.keepSize | AllocateFlag.punchHole:
            let count = min(size, offset + length) - offset
            guard count > 0 else { return }
            changeContents(of: file) { $0.write([UInt8](repeating: 0, count: count), at: offset) }
        default: preconditionFailure("a mode of fallocate that the model does not know")
        }
    }
}

/// Flags of renameat2(2).
private enum RenameFlag {
    static let noReplace: UInt32 = 1
    static let exchange: UInt32 = 2
}

/// FALLOC_FL_* of fallocate(2).
private enum AllocateFlag {
    static let keepSize: Int32 = 1
    static let punchHole: Int32 = 2
}

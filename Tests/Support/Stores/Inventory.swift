import Glibc
import Posix
import Store

/// The records that make a store's contents over an empty folder.
struct Inventory {
    var records: [Record] = []
    var inodes = InodeTable()
    /// The first name of each file; the others become links to it.
    private var names: [RecordedInode: (name: Name, directory: RecordedInode)] = [:]

    init(of store: any Store) throws(Errno) {
        let status = try store.status(of: store.root)
        try appendMetadata(status, of: store.root, as: inodes.add(status), in: store)
        try appendEntries(of: store.root, as: .root, in: store)
    }

    private mutating func appendEntries(
        of directory: Descriptor, as recordedDirectory: RecordedInode, in store: any Store
    ) throws(Errno) {
        // By name, so that the same store makes the same records.
        let entries = try store.entries(of: directory).sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
        for entry in entries {
            try append(entry.name, in: directory, recordedDirectory, of: store)
        }
    }

    private mutating func append(
        _ name: Name, in directory: Descriptor, _ recordedDirectory: RecordedInode, of store: any Store
    ) throws(Errno) {
        let status = try store.status(of: name, in: directory)
        if let known = inodes[status], let first = names[known] {
            let link = Change.link(first.name, in: first.directory, to: name, newDirectory: recordedDirectory)
            records.append(Record(link))
            return
        }
        let inode = inodes.add(status)
        names[inode] = (name, recordedDirectory)
        switch status.kind {
        case .directory:
            let opened = try store.open(name, in: directory, O_RDONLY | O_DIRECTORY)
            records.append(Record(.makeDirectory(name, in: recordedDirectory, mode: 0o700), made: inode))
            try appendEntries(of: opened, as: inode, in: store)
            try appendMetadata(status, of: opened, as: inode, in: store)
        case .regular:
            let opened = try store.open(name, in: directory, O_RDONLY)
            records.append(Record(.create(name, in: recordedDirectory, mode: 0o600), made: inode))
            try appendContents(of: opened, as: inode, in: store)
            try appendMetadata(status, of: opened, as: inode, in: store)
        case .symbolicLink:
            let target = try store.readSymbolicLink(name, in: directory)
            records.append(Record(.makeSymbolicLink(to: target, name, in: recordedDirectory), made: inode))
            appendOwnerAndTimes(status, of: .file(inode))
        case .fifo, .socket, .characterDevice, .blockDevice, nil:
            let node = Change.makeNode(
                name, in: recordedDirectory, mode: status.mode, device: status.specialDevice)
            records.append(Record(node, made: inode))
            records.append(Record(.setMode(status.permissions, of: .file(inode))))
            appendOwnerAndTimes(status, of: .file(inode))
        }
    }

    private mutating func appendContents(
        of file: Descriptor, as inode: RecordedInode, in store: any Store
    ) throws(Errno) {
        var offset: Int64 = 0
        while let data = try store.nextData(of: file, from: offset) {
            let chunk = try store.chunk(of: file, at: data)
            if chunk.isEmpty { break }
            // A chunk of zeros may be a hole: the length alone makes it again.
            if !chunk.isZero { records.append(Record(.write(chunk, to: inode, at: data))) }
            offset = data + Int64(chunk.count)
        }
        records.append(Record(.truncate(inode, to: try store.status(of: file).size)))
    }

    private mutating func appendMetadata(
        _ status: FileStatus, of file: Descriptor, as inode: RecordedInode, in store: any Store
    ) throws(Errno) {
        for name in try store.attributeNames(of: file) where name.hasPrefix("user.") {
            let value = try store.attribute(name, of: file)
            records.append(Record(.setAttribute(name, to: value, flags: 0, of: inode)))
        }
        appendOwnerAndTimes(status, of: .file(inode))
        // After the owner, whose change clears the set-ID bits.
        records.append(Record(.setMode(status.permissions, of: .file(inode))))
    }

    private mutating func appendOwnerAndTimes(_ status: FileStatus, of subject: Change<RecordedInode>.Subject) {
        records.append(Record(.setOwner(user: status.owner, group: status.group, of: subject)))
        let times = Change.setTimes(
            accessed: .at(status.accessed), modified: .at(status.modified), of: subject)
        records.append(Record(times))
    }
}

extension Store {
    /// At most 64 KiB of a file; nothing at its end.
    fileprivate func chunk(of file: Descriptor, at offset: Int64) throws(Errno) -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var span = chunk.mutableSpan
        var bytes = unsafe span.mutableBytes
        let count = try read(file, into: &bytes, at: offset)
        return Array(chunk.prefix(count))
    }
}

extension [UInt8] {
    /// By memcmp: the tests are built without optimisation and compare megabytes.
    fileprivate var isZero: Bool {
        guard first == 0 else { return isEmpty }
        return unsafe withUnsafeBytes { bytes in
            unsafe memcmp(bytes.baseAddress!, bytes.baseAddress! + 1, bytes.count - 1) == 0
        }
    }
}

import Glibc
public import Posix
import TestStores
import TestSupport

extension DiskImage {
    /// Writes the disk's contents into an empty folder. Owners are set only where this process may give files away.
    public func make(in folder: Descriptor) throws(Errno) {
        var first: [RecordedInode: (directory: Descriptor, name: Name)] = [:]
        try makeEntries(of: .root, in: folder, &first)
        try setMetadata(of: inodes[.root]!, folder)
    }

    private func makeEntries(
        of directory: RecordedInode, in folder: Descriptor,
        _ first: inout [RecordedInode: (directory: Descriptor, name: Name)]
    ) throws(Errno) {
        for (name, number) in inodes[directory]!.entries {
            if let known = first[number] {
                try known.directory.link(known.name, to: name, in: folder)
                continue
            }
            first[number] = (folder, name)
            let inode = inodes[number]!
            switch inode.kind {
            case .regular:
                let file = try folder.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
                for (offset, bytes) in inode.bytes.filled {
                    try unsafe file.write(bytes.span.bytes, at: Int64(offset))
                }
                try file.truncate(to: Int64(inode.bytes.count))
                try setMetadata(of: inode, file)
            case .directory:
                try folder.makeDirectory(name, mode: 0o700)
                let made = try folder.open(name, O_RDONLY | O_DIRECTORY)
                try makeEntries(of: number, in: made, &first)
                try setMetadata(of: inode, made)
            case .symbolicLink(let target):
                try folder.makeSymbolicLink(to: target, name)
                if geteuid() == 0 { try folder.setOwner(user: inode.user, group: inode.group, of: name) }
            case .special(let mode, let device):
                try folder.makeNode(name, mode: mode, device: device)
            }
        }
    }

    private func setMetadata(of inode: Inode, _ file: Descriptor) throws(Errno) {
        for (name, value) in inode.attributes { try file.setAttribute(name, to: value) }
        if geteuid() == 0, inode.user != nil || inode.group != nil {
            try file.setOwner(user: inode.user, group: inode.group)
        }
        try file.setMode(inode.mode)
        if let stamp = inode.stamp { try file.setTimes(accessed: .keep, modified: .at(stamp)) }
    }
}

/// A folder in memory that holds one state after the other.
public final class StateFolder {
    private let folder: TemporaryFolder
    private let root: Descriptor

    public var path: String { folder.path }
    /// The device key of a vault in the folder.
    public var keyPath: String { path + ".key" }

    public init() throws {
        folder = try TemporaryFolder(in: Environment.memory, mode: 0o700)
        root = try folder.descriptor()
    }

    deinit {
        removeDeviceKey(keyPath)
    }

    /// Replaces the folder's contents with a state.
    public func hold(_ image: DiskImage) throws(Errno) {
        try root.removeContents()
        try image.make(in: root)
    }

    /// Replaces the folder's contents with a copy of another folder's.
    func hold(contentsOf other: StateFolder) throws(Errno) {
        try root.removeContents()
        var copies: [UInt64: (directory: Descriptor, name: Name)] = [:]
        try other.root.copyContents(to: root, &copies)
    }

    /// Replaces the folder's contents with the plain tree.
    public func hold(_ observation: Observation) throws(Errno) {
        try root.removeContents()
        try observation.export(to: root)
    }
}

extension Descriptor {
    /// Everything in a vault's folder except owners, modes, special files and the attributes of directories. `copies`
    /// holds the first names of the inodes that were copied.
    fileprivate func copyContents(
        to target: Descriptor, _ copies: inout [UInt64: (directory: Descriptor, name: Name)]
    ) throws(Errno) {
        for entry in try entries() {
            switch entry.kind {
            case .directory:
                try target.makeDirectory(entry.name, mode: 0o700)
                let flags = O_RDONLY | O_DIRECTORY
                try open(entry.name, flags).copyContents(to: try target.open(entry.name, flags), &copies)
            case .symbolicLink: try target.makeSymbolicLink(to: try readSymbolicLink(entry.name), entry.name)
            default:
                if let first = copies[entry.inode] {
                    try first.directory.link(first.name, to: entry.name, in: target)
                    continue
                }
                copies[entry.inode] = (target, entry.name)
                let file = try open(entry.name, O_RDONLY)
                let copy = try target.open(entry.name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
                try file.copyBytes(to: copy)
                for name in try file.attributeNames() where name.hasPrefix("user.") {
                    try copy.setAttribute(name, to: try file.attribute(name))
                }
                try copy.setTimes(accessed: .keep, modified: .at(try file.status().modified))
            }
        }
    }

    private func copyBytes(to target: Descriptor) throws(Errno) {
        let size = Int(try status().size)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        for offset in stride(from: 0, to: size, by: buffer.count) {
            let count: Int
            do {
                var elements = buffer.mutableSpan
                var span = unsafe elements.mutableBytes
                count = try read(into: &span, at: Int64(offset))
            }
            guard !buffer.isZero(in: 0..<count) else { continue }
            try unsafe target.write(buffer.span.bytes.extracting(0..<count), at: Int64(offset))
        }
        try target.truncate(to: Int64(size))
    }
}

import Glibc
public import Posix

/// A store over a real folder.
public final class DirectoryStore: Store {
    public let root: Descriptor
    public let orderedDevice: UInt64?

    /// Opens the folder at a path; symbolic links in it are followed.
    ///
    /// - Parameter looksForOrder: if false, no device counts as ordered.
    public init(path: Path, looksForOrder: Bool = true) throws(Errno) {
        root = try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY)
        orderedDevice = looksForOrder ? MetadataOrder.device(of: root) : nil
    }

    public func open(
        _ name: Name, in directory: Descriptor, _ flags: Int32, mode: UInt32
    ) throws(Errno) -> Descriptor {
        // Users list directories, so that moves their times of access. The vault reads files for its own purposes,
        // headers too.
        guard flags & (O_DIRECTORY | O_CREAT | O_PATH) == 0 else {
            let flags = flags & O_CREAT == 0 ? flags : flags | O_NOATIME
            return try directory.open(name, flags, mode: mode)
        }
        do throws(Errno) { return try directory.open(name, flags | O_NOATIME, mode: mode) } catch {
            // O_NOATIME needs the file's owner: this file belongs to another user.
            guard error == .EPERM else { throw error }
            return try directory.open(name, flags, mode: mode)
        }
    }

    public func reopen(_ file: Descriptor, _ flags: Int32) throws(Errno) -> Descriptor {
        try file.reopen(flags)
    }

    public func path(of file: Descriptor) throws(Errno) -> [UInt8] {
        let path = try file.path()
        let folder = try root.path() + [UInt8(ascii: "/")]
        guard path.starts(with: folder) else { throw .ENAMETOOLONG }
        return Array(path.dropFirst(folder.count))
    }

    public func status(of name: Name, in directory: Descriptor) throws(Errno) -> FileStatus {
        try directory.status(of: name)
    }

    public func status(of file: Descriptor) throws(Errno) -> FileStatus {
        try file.status()
    }

    public func birthTime(_ name: Name, in directory: Descriptor) throws(Errno) -> Timespec? {
        try directory.birthTime(name)
    }

    public func birthTime(_ file: Descriptor) throws(Errno) -> Timespec? { try file.birthTime() }

    public func read(
        _ file: Descriptor, into buffer: inout MutableRawSpan, at offset: Int64
    ) throws(Errno) -> Int {
        try file.read(into: &buffer, at: offset)
    }

    public func write(_ bytes: RawSpan, to file: Descriptor, at offset: Int64) throws(Errno) {
        do throws(Errno) { try file.write(bytes, at: offset) } catch { throw error.asAnswered }
    }

    public func nextData(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try file.nextData(from: offset)
    }

    public func nextHole(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try file.nextHole(from: offset)
    }

    public func noteAccess(to file: Descriptor) throws(Errno) { try file.noteAccess() }

    public func truncate(_ file: Descriptor, to size: Int64) throws(Errno) {
        try file.truncate(to: size)
    }

    public func allocate(_ file: Descriptor, mode: Int32, offset: Int64, length: Int64) throws(Errno) {
        try file.allocate(mode: mode, offset: offset, length: length)
    }

    public func synchronize(_ file: Descriptor, dataOnly: Bool) throws(Errno) {
        do throws(Errno) { try file.synchronize(dataOnly: dataOnly) } catch { throw error.asAnswered }
    }

    public func synchronizeAll() throws(Errno) {
        do throws(Errno) { try root.synchronizeFileSystem() } catch { throw error.asAnswered }
    }

    public func rename(
        _ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor, flags: UInt32
    ) throws(Errno) {
        try directory.rename(old, to: new, in: newDirectory, flags: flags)
    }

    public func link(_ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor) throws(Errno) {
        try directory.link(old, to: new, in: newDirectory)
    }

    public func unlink(_ name: Name, in directory: Descriptor) throws(Errno) {
        try directory.unlink(name)
    }

    public func removeDirectory(_ name: Name, in directory: Descriptor) throws(Errno) {
        try directory.removeDirectory(name)
    }

    public func makeDirectory(_ name: Name, in directory: Descriptor, mode: UInt32) throws(Errno) {
        try directory.makeDirectory(name, mode: mode)
    }

    public func makeNode(_ name: Name, in directory: Descriptor, mode: UInt32, device: UInt64) throws(Errno) {
        try directory.makeNode(name, mode: mode, device: device)
    }

    public func makeSymbolicLink(to target: [UInt8], _ name: Name, in directory: Descriptor) throws(Errno) {
        try directory.makeSymbolicLink(to: target, name)
    }

    public func readSymbolicLink(_ name: Name, in directory: Descriptor) throws(Errno) -> [UInt8] {
        try directory.readSymbolicLink(name)
    }

    public func entries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try directory.entries()
    }

    public func nextEntries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try directory.nextEntries()
    }

    public func setMode(_ mode: UInt32, of name: Name, in directory: Descriptor) throws(Errno) {
        try directory.setMode(mode, of: name)
    }

    public func setMode(_ mode: UInt32, of file: Descriptor) throws(Errno) {
        try file.setMode(mode)
    }

    public func setOwner(user: UInt32?, group: UInt32?, of name: Name, in directory: Descriptor) throws(Errno) {
        try directory.setOwner(user: user, group: group, of: name)
    }

    public func setOwner(user: UInt32?, group: UInt32?, of file: Descriptor) throws(Errno) {
        try file.setOwner(user: user, group: group)
    }

    public func setTimes(
        accessed: TimeChange, modified: TimeChange, of name: Name, in directory: Descriptor
    ) throws(Errno) {
        try directory.setTimes(accessed: accessed, modified: modified, of: name)
    }

    public func setTimes(accessed: TimeChange, modified: TimeChange, of file: Descriptor) throws(Errno) {
        try file.setTimes(accessed: accessed, modified: modified)
    }

    public func attribute(_ name: String, of file: Descriptor) throws(Errno) -> [UInt8] {
        try file.attribute(name)
    }

    public func setAttribute(_ name: String, to value: [UInt8], flags: Int32, of file: Descriptor) throws(Errno) {
        try file.setAttribute(name, to: value, flags: flags)
    }

    public func removeAttribute(_ name: String, of file: Descriptor) throws(Errno) {
        try file.removeAttribute(name)
    }

    public func attribute(
        _ name: String, of entry: Name, in directory: Descriptor, into value: inout MutableRawSpan
    ) throws(Errno) -> Int {
        try directory.attribute(name, of: entry, into: &value)
    }

    public func attributeNames(of file: Descriptor) throws(Errno) -> [String] {
        try file.attributeNames()
    }

    public func statistics() throws(Errno) -> FileSystemStatistics {
        try root.fileSystemStatistics()
    }

    public func lockExclusively(_ file: Descriptor) throws(Errno) {
        try file.lockExclusively()
    }

    public func lock(_ range: ByteRange, _ kind: RangeLock?, of file: Descriptor) throws(Errno) -> Bool {
        try file.lock(range, kind)
    }

    public func obstacle(
        to kind: RangeLock, of range: ByteRange, in file: Descriptor
    ) throws(Errno) -> (RangeLock, ByteRange)? {
        try file.obstacle(to: kind, of: range)
    }
}

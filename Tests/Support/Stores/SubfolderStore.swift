public import Posix
public import Store

/// A folder of another store as a store of its own: a vault that lies beside other files, all of them recorded.
public final class SubfolderStore: Store {
    private let store: any Store
    public let root: Descriptor

    /// - Parameter folder: of `store`.
    public init(_ folder: Descriptor, of store: any Store) {
        self.store = store
        root = folder
    }

    public var orderedDevice: UInt64? { store.orderedDevice }

    public func open(
        _ name: Name, in directory: Descriptor, _ flags: Int32, mode: UInt32
    ) throws(Errno) -> Descriptor {
        try store.open(name, in: directory, flags, mode: mode)
    }

    public func reopen(_ file: Descriptor, _ flags: Int32) throws(Errno) -> Descriptor {
        try store.reopen(file, flags)
    }

    public func path(of file: Descriptor) throws(Errno) -> [UInt8] { try store.path(of: file) }

    public func status(of name: Name, in directory: Descriptor) throws(Errno) -> FileStatus {
        try store.status(of: name, in: directory)
    }

    public func status(of file: Descriptor) throws(Errno) -> FileStatus { try store.status(of: file) }

    public func birthTime(_ name: Name, in directory: Descriptor) throws(Errno) -> Timespec? {
        try store.birthTime(name, in: directory)
    }

    public func birthTime(_ file: Descriptor) throws(Errno) -> Timespec? { try store.birthTime(file) }

    public func read(
        _ file: Descriptor, into buffer: inout MutableRawSpan, at offset: Int64
    ) throws(Errno) -> Int {
        try store.read(file, into: &buffer, at: offset)
    }

    public func write(_ bytes: RawSpan, to file: Descriptor, at offset: Int64) throws(Errno) {
        try store.write(bytes, to: file, at: offset)
    }

    public func nextData(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try store.nextData(of: file, from: offset)
    }

    public func nextHole(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try store.nextHole(of: file, from: offset)
    }

    public func noteAccess(to file: Descriptor) throws(Errno) { try store.noteAccess(to: file) }

    public func truncate(_ file: Descriptor, to size: Int64) throws(Errno) {
        try store.truncate(file, to: size)
    }

    public func allocate(_ file: Descriptor, mode: Int32, offset: Int64, length: Int64) throws(Errno) {
        try store.allocate(file, mode: mode, offset: offset, length: length)
    }

    public func synchronize(_ file: Descriptor, dataOnly: Bool) throws(Errno) {
        try store.synchronize(file, dataOnly: dataOnly)
    }

    public func synchronizeAll() throws(Errno) {
        try store.synchronizeAll()
    }

    public func rename(
        _ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor, flags: UInt32
    ) throws(Errno) {
        try store.rename(old, in: directory, to: new, in: newDirectory, flags: flags)
    }

    public func link(_ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor) throws(Errno) {
        try store.link(old, in: directory, to: new, in: newDirectory)
    }

    public func unlink(_ name: Name, in directory: Descriptor) throws(Errno) {
        try store.unlink(name, in: directory)
    }

    public func removeDirectory(_ name: Name, in directory: Descriptor) throws(Errno) {
        try store.removeDirectory(name, in: directory)
    }

    public func makeDirectory(_ name: Name, in directory: Descriptor, mode: UInt32) throws(Errno) {
        try store.makeDirectory(name, in: directory, mode: mode)
    }

    public func makeNode(_ name: Name, in directory: Descriptor, mode: UInt32, device: UInt64) throws(Errno) {
        try store.makeNode(name, in: directory, mode: mode, device: device)
    }

    public func makeSymbolicLink(to target: [UInt8], _ name: Name, in directory: Descriptor) throws(Errno) {
        try store.makeSymbolicLink(to: target, name, in: directory)
    }

    public func readSymbolicLink(_ name: Name, in directory: Descriptor) throws(Errno) -> [UInt8] {
        try store.readSymbolicLink(name, in: directory)
    }

    public func entries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try store.entries(of: directory)
    }

    public func nextEntries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try store.nextEntries(of: directory)
    }

    public func setMode(_ mode: UInt32, of name: Name, in directory: Descriptor) throws(Errno) {
        try store.setMode(mode, of: name, in: directory)
    }

    public func setMode(_ mode: UInt32, of file: Descriptor) throws(Errno) {
        try store.setMode(mode, of: file)
    }

    public func setOwner(user: UInt32?, group: UInt32?, of name: Name, in directory: Descriptor) throws(Errno) {
        try store.setOwner(user: user, group: group, of: name, in: directory)
    }

    public func setOwner(user: UInt32?, group: UInt32?, of file: Descriptor) throws(Errno) {
        try store.setOwner(user: user, group: group, of: file)
    }

    public func setTimes(
        accessed: TimeChange, modified: TimeChange, of name: Name, in directory: Descriptor
    ) throws(Errno) {
        try store.setTimes(accessed: accessed, modified: modified, of: name, in: directory)
    }

    public func setTimes(accessed: TimeChange, modified: TimeChange, of file: Descriptor) throws(Errno) {
        try store.setTimes(accessed: accessed, modified: modified, of: file)
    }

    public func attribute(_ name: String, of file: Descriptor) throws(Errno) -> [UInt8] {
        try store.attribute(name, of: file)
    }

    public func setAttribute(_ name: String, to value: [UInt8], flags: Int32, of file: Descriptor) throws(Errno) {
        try store.setAttribute(name, to: value, flags: flags, of: file)
    }

    public func removeAttribute(_ name: String, of file: Descriptor) throws(Errno) {
        try store.removeAttribute(name, of: file)
    }

    public func attribute(
        _ name: String, of entry: Name, in directory: Descriptor, into value: inout MutableRawSpan
    ) throws(Errno) -> Int {
        try store.attribute(name, of: entry, in: directory, into: &value)
    }

    public func attributeNames(of file: Descriptor) throws(Errno) -> [String] {
        try store.attributeNames(of: file)
    }

    public func statistics() throws(Errno) -> FileSystemStatistics { try store.statistics() }

    public func lockExclusively(_ file: Descriptor) throws(Errno) { try store.lockExclusively(file) }
}

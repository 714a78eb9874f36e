import Glibc
public import Posix

/// A store that asks a fence before each change, after each flush, and after each read.
///
/// A flush counts only if the store still belongs to this process behind it: another machine that takes the store over
/// reads what is durable then. Once the fence is lost, reads fail as well, since another machine changes the files.
public final class FencedStore: Store {
    private let store: any Store
    private let fence: any Fence

    public init(_ store: any Store, _ fence: any Fence) {
        self.store = store
        self.fence = fence
    }

    public var root: Descriptor { store.root }
    public var orderedDevice: UInt64? { store.orderedDevice }

    private func checked<Answer>(_ answer: Answer) throws(Errno) -> Answer {
        try fence.checkRead()
        return answer
    }

    public func open(
        _ name: Name, in directory: Descriptor, _ flags: Int32, mode: UInt32
    ) throws(Errno) -> Descriptor {
        if flags & (O_CREAT | O_TRUNC) != 0 { try fence.check() }
        return try checked(store.open(name, in: directory, flags, mode: mode))
    }

    public func reopen(_ file: Descriptor, _ flags: Int32) throws(Errno) -> Descriptor {
        try checked(store.reopen(file, flags))
    }

    public func path(of file: Descriptor) throws(Errno) -> [UInt8] { try store.path(of: file) }

    public func status(of name: Name, in directory: Descriptor) throws(Errno) -> FileStatus {
        try checked(store.status(of: name, in: directory))
    }

    public func status(of file: Descriptor) throws(Errno) -> FileStatus { try checked(store.status(of: file)) }

    public func birthTime(_ name: Name, in directory: Descriptor) throws(Errno) -> Timespec? {
        try store.birthTime(name, in: directory)
    }

    public func birthTime(_ file: Descriptor) throws(Errno) -> Timespec? { try store.birthTime(file) }

    public func read(
        _ file: Descriptor, into buffer: inout MutableRawSpan, at offset: Int64
    ) throws(Errno) -> Int {
        try checked(store.read(file, into: &buffer, at: offset))
    }

    public func write(_ bytes: RawSpan, to file: Descriptor, at offset: Int64) throws(Errno) {
        try fence.check()
        try store.write(bytes, to: file, at: offset)
    }

    public func nextData(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try checked(store.nextData(of: file, from: offset))
    }

    public func nextHole(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try checked(store.nextHole(of: file, from: offset))
    }

    public func noteAccess(to file: Descriptor) throws(Errno) { try store.noteAccess(to: file) }

    public func truncate(_ file: Descriptor, to size: Int64) throws(Errno) {
        try fence.check()
        try store.truncate(file, to: size)
    }

    public func allocate(_ file: Descriptor, mode: Int32, offset: Int64, length: Int64) throws(Errno) {
        try fence.check()
        try store.allocate(file, mode: mode, offset: offset, length: length)
    }

    public func synchronize(_ file: Descriptor, dataOnly: Bool) throws(Errno) {
        try fence.check()
        try store.synchronize(file, dataOnly: dataOnly)
        try fence.check()
    }

    public func synchronizeAll() throws(Errno) {
        try fence.check()
        try store.synchronizeAll()
        try fence.check()
    }

    public func rename(
        _ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor, flags: UInt32
    ) throws(Errno) {
        try fence.check()
        try store.rename(old, in: directory, to: new, in: newDirectory, flags: flags)
    }

    public func link(_ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor) throws(Errno) {
        try fence.check()
        try store.link(old, in: directory, to: new, in: newDirectory)
    }

    public func unlink(_ name: Name, in directory: Descriptor) throws(Errno) {
        try fence.check()
        try store.unlink(name, in: directory)
    }

    public func removeDirectory(_ name: Name, in directory: Descriptor) throws(Errno) {
        try fence.check()
        try store.removeDirectory(name, in: directory)
    }

    public func makeDirectory(_ name: Name, in directory: Descriptor, mode: UInt32) throws(Errno) {
        try fence.check()
        try store.makeDirectory(name, in: directory, mode: mode)
    }

    public func makeNode(_ name: Name, in directory: Descriptor, mode: UInt32, device: UInt64) throws(Errno) {
        try fence.check()
        try store.makeNode(name, in: directory, mode: mode, device: device)
    }

    public func makeSymbolicLink(to target: [UInt8], _ name: Name, in directory: Descriptor) throws(Errno) {
        try fence.check()
        try store.makeSymbolicLink(to: target, name, in: directory)
    }

    public func readSymbolicLink(_ name: Name, in directory: Descriptor) throws(Errno) -> [UInt8] {
        try checked(store.readSymbolicLink(name, in: directory))
    }

    public func entries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try checked(store.entries(of: directory))
    }

    public func nextEntries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try checked(store.nextEntries(of: directory))
    }

    public func setMode(_ mode: UInt32, of name: Name, in directory: Descriptor) throws(Errno) {
        try fence.check()
        try store.setMode(mode, of: name, in: directory)
    }

    public func setMode(_ mode: UInt32, of file: Descriptor) throws(Errno) {
        try fence.check()
        try store.setMode(mode, of: file)
    }

    public func setOwner(user: UInt32?, group: UInt32?, of name: Name, in directory: Descriptor) throws(Errno) {
        try fence.check()
        try store.setOwner(user: user, group: group, of: name, in: directory)
    }

    public func setOwner(user: UInt32?, group: UInt32?, of file: Descriptor) throws(Errno) {
        try fence.check()
        try store.setOwner(user: user, group: group, of: file)
    }

    public func setTimes(
        accessed: TimeChange, modified: TimeChange, of name: Name, in directory: Descriptor
    ) throws(Errno) {
        try fence.check()
        try store.setTimes(accessed: accessed, modified: modified, of: name, in: directory)
    }

    public func setTimes(accessed: TimeChange, modified: TimeChange, of file: Descriptor) throws(Errno) {
        try fence.check()
        try store.setTimes(accessed: accessed, modified: modified, of: file)
    }

    public func attribute(_ name: String, of file: Descriptor) throws(Errno) -> [UInt8] {
        try checked(store.attribute(name, of: file))
    }

    public func setAttribute(_ name: String, to value: [UInt8], flags: Int32, of file: Descriptor) throws(Errno) {
        try fence.check()
        try store.setAttribute(name, to: value, flags: flags, of: file)
    }

    public func removeAttribute(_ name: String, of file: Descriptor) throws(Errno) {
        try fence.check()
        try store.removeAttribute(name, of: file)
    }

    public func attribute(
        _ name: String, of entry: Name, in directory: Descriptor, into value: inout MutableRawSpan
    ) throws(Errno) -> Int {
        try checked(store.attribute(name, of: entry, in: directory, into: &value))
    }

    public func attributeNames(of file: Descriptor) throws(Errno) -> [String] {
        try checked(store.attributeNames(of: file))
    }

    public func statistics() throws(Errno) -> FileSystemStatistics { try store.statistics() }

    public func lockExclusively(_ file: Descriptor) throws(Errno) { try store.lockExclusively(file) }

    // A lock changes nothing in the store.

    public func lock(_ range: ByteRange, _ kind: RangeLock?, of file: Descriptor) throws(Errno) -> Bool {
        try store.lock(range, kind, of: file)
    }

    public func obstacle(
        to kind: RangeLock, of range: ByteRange, in file: Descriptor
    ) throws(Errno) -> (RangeLock, ByteRange)? {
        try store.obstacle(to: kind, of: range, in: file)
    }
}

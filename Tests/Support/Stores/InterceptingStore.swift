public import Posix
public import Store

/// Wraps every call to a store.
public protocol Interceptor: AnyObject, Sendable {
    /// Called in place of each operation, by the thread that asked for it; `proceed` runs the operation, on `store`.
    func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result
}

/// A store that passes each call to another store through an interceptor.
///
/// Written once, for every hook that must see or fail what a vault does to its folder.
public final class InterceptingStore<Hook: Interceptor>: Store {
    public let base: any Store
    public let hook: Hook

    /// - Parameter root: a folder of `base` that is the root of this store; nil for the base's own.
    public init(_ base: any Store, root: Descriptor? = nil, hook: Hook, orderedDevice: UInt64?) {
        self.base = base
        self.root = root ?? base.root
        self.hook = hook
        self.orderedDevice = orderedDevice
    }

    /// - Parameter keepsMetadataOrder: of the root's device; if nil, as the base says.
    public convenience init(_ base: any Store, hook: Hook, keepsMetadataOrder: Bool? = nil) {
        let device =
            switch keepsMetadataOrder {
            case nil: base.orderedDevice
            case true?: (try? base.root.status())?.device
            case false?: nil as UInt64?
            }
        self.init(base, hook: hook, orderedDevice: device)
    }

    public let root: Descriptor
    /// What the vault is told; at first what the base says.
    public let orderedDevice: UInt64?

    private func change(_ change: Change<Descriptor>) throws(Errno) {
        try hook.intercept(.change(change), on: base) { () throws(Errno) in try base.apply(change) }
    }

    private func inspect<Result>(
        _ kind: Operation.Kind, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        try hook.intercept(.inspect(kind), on: base, proceed)
    }

    public func open(
        _ name: Name, in directory: Descriptor, _ flags: Int32, mode: UInt32
    ) throws(Errno) -> Descriptor {
        try hook.intercept(.open(name, in: directory, flags: flags, mode: mode), on: base) { () throws(Errno) in
            try base.open(name, in: directory, flags, mode: mode)
        }
    }

    public func reopen(_ file: Descriptor, _ flags: Int32) throws(Errno) -> Descriptor {
        try inspect(.open) { () throws(Errno) in try base.reopen(file, flags) }
    }

    public func path(of file: Descriptor) throws(Errno) -> [UInt8] {
        try inspect(.status) { () throws(Errno) in try base.path(of: file) }
    }

    public func status(of name: Name, in directory: Descriptor) throws(Errno) -> FileStatus {
        try inspect(.status) { () throws(Errno) in try base.status(of: name, in: directory) }
    }

    public func status(of file: Descriptor) throws(Errno) -> FileStatus {
        try inspect(.status) { () throws(Errno) in try base.status(of: file) }
    }

    public func birthTime(_ name: Name, in directory: Descriptor) throws(Errno) -> Timespec? {
        try inspect(.status) { () throws(Errno) in try base.birthTime(name, in: directory) }
    }

    public func birthTime(_ file: Descriptor) throws(Errno) -> Timespec? {
        try inspect(.status) { () throws(Errno) in try base.birthTime(file) }
    }

    public func read(
        _ file: Descriptor, into buffer: inout MutableRawSpan, at offset: Int64
    ) throws(Errno) -> Int {
        try inspect(.read) { () throws(Errno) in try base.read(file, into: &buffer, at: offset) }
    }

    public func nextData(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try inspect(.nextData) { () throws(Errno) in try base.nextData(of: file, from: offset) }
    }

    public func nextHole(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try inspect(.nextHole) { () throws(Errno) in try base.nextHole(of: file, from: offset) }
    }

    public func write(_ bytes: RawSpan, to file: Descriptor, at offset: Int64) throws(Errno) {
        try change(.write(unsafe bytes.withUnsafeBytes { unsafe Array($0) }, to: file, at: offset))
    }

    public func noteAccess(to file: Descriptor) throws(Errno) {
        try inspect(.noteAccess) { () throws(Errno) in try base.noteAccess(to: file) }
    }

    public func truncate(_ file: Descriptor, to size: Int64) throws(Errno) {
        try change(.truncate(file, to: size))
    }

    public func allocate(_ file: Descriptor, mode: Int32, offset: Int64, length: Int64) throws(Errno) {
        try change(.allocate(file, mode: mode, offset: offset, length: length))
    }

    public func synchronize(_ file: Descriptor, dataOnly: Bool) throws(Errno) {
        try change(.synchronize(file, dataOnly: dataOnly))
    }

    public func synchronizeAll() throws(Errno) {
        try change(.synchronizeAll)
    }

    public func rename(
        _ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor, flags: UInt32
    ) throws(Errno) {
        try change(.rename(old, in: directory, to: new, newDirectory: newDirectory, flags: flags))
    }

    public func link(_ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor) throws(Errno) {
        try change(.link(old, in: directory, to: new, newDirectory: newDirectory))
    }

    public func unlink(_ name: Name, in directory: Descriptor) throws(Errno) {
        try change(.unlink(name, in: directory))
    }

    public func removeDirectory(_ name: Name, in directory: Descriptor) throws(Errno) {
        try change(.removeDirectory(name, in: directory))
    }

    public func makeDirectory(_ name: Name, in directory: Descriptor, mode: UInt32) throws(Errno) {
        try change(.makeDirectory(name, in: directory, mode: mode))
    }

    public func makeNode(_ name: Name, in directory: Descriptor, mode: UInt32, device: UInt64) throws(Errno) {
        try change(.makeNode(name, in: directory, mode: mode, device: device))
    }

    public func makeSymbolicLink(to target: [UInt8], _ name: Name, in directory: Descriptor) throws(Errno) {
        try change(.makeSymbolicLink(to: target, name, in: directory))
    }

    public func readSymbolicLink(_ name: Name, in directory: Descriptor) throws(Errno) -> [UInt8] {
        try inspect(.readSymbolicLink) { () throws(Errno) in try base.readSymbolicLink(name, in: directory) }
    }

    public func entries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try inspect(.entries) { () throws(Errno) in try base.entries(of: directory) }
    }

    public func nextEntries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try inspect(.entries) { () throws(Errno) in try base.nextEntries(of: directory) }
    }

    public func setMode(_ mode: UInt32, of name: Name, in directory: Descriptor) throws(Errno) {
        try change(.setMode(mode, of: .entry(name, in: directory)))
    }

    public func setMode(_ mode: UInt32, of file: Descriptor) throws(Errno) {
        try change(.setMode(mode, of: .file(file)))
    }

    public func setOwner(user: UInt32?, group: UInt32?, of name: Name, in directory: Descriptor) throws(Errno) {
        try change(.setOwner(user: user, group: group, of: .entry(name, in: directory)))
    }

    public func setOwner(user: UInt32?, group: UInt32?, of file: Descriptor) throws(Errno) {
        try change(.setOwner(user: user, group: group, of: .file(file)))
    }

    public func setTimes(
        accessed: TimeChange, modified: TimeChange, of name: Name, in directory: Descriptor
    ) throws(Errno) {
        try change(.setTimes(accessed: accessed, modified: modified, of: .entry(name, in: directory)))
    }

    public func setTimes(accessed: TimeChange, modified: TimeChange, of file: Descriptor) throws(Errno) {
        try change(.setTimes(accessed: accessed, modified: modified, of: .file(file)))
    }

    public func attribute(_ name: String, of file: Descriptor) throws(Errno) -> [UInt8] {
        try inspect(.attribute) { () throws(Errno) in try base.attribute(name, of: file) }
    }

    public func attribute(
        _ name: String, of entry: Name, in directory: Descriptor, into value: inout MutableRawSpan
    ) throws(Errno) -> Int {
        try inspect(.attribute) { () throws(Errno) in
            try base.attribute(name, of: entry, in: directory, into: &value)
        }
    }

    public func setAttribute(_ name: String, to value: [UInt8], flags: Int32, of file: Descriptor) throws(Errno) {
        try change(.setAttribute(name, to: value, flags: flags, of: file))
    }

    public func removeAttribute(_ name: String, of file: Descriptor) throws(Errno) {
        try change(.removeAttribute(name, of: file))
    }

    public func attributeNames(of file: Descriptor) throws(Errno) -> [String] {
        try inspect(.attributeNames) { () throws(Errno) in try base.attributeNames(of: file) }
    }

    public func statistics() throws(Errno) -> FileSystemStatistics {
        try inspect(.statistics) { () throws(Errno) in try base.statistics() }
    }

    public func lockExclusively(_ file: Descriptor) throws(Errno) {
        try inspect(.lockExclusively) { () throws(Errno) in try base.lockExclusively(file) }
    }

    public func lock(_ range: ByteRange, _ kind: RangeLock?, of file: Descriptor) throws(Errno) -> Bool {
        try inspect(.lock) { () throws(Errno) in try base.lock(range, kind, of: file) }
    }

    public func obstacle(
        to kind: RangeLock, of range: ByteRange, in file: Descriptor
    ) throws(Errno) -> (RangeLock, ByteRange)? {
        try inspect(.obstacle) { () throws(Errno) in try base.obstacle(to: kind, of: range, in: file) }
    }
}

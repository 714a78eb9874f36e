import Glibc
public import Posix

/// A store whose callers do not wait for ever: in a hurry, a call that the store does not answer is given up.
///
/// For stores that may hang, as those do that a network lies before: the kernel lets no thread leave such a call. So
/// each call is made on a thread of this store's own, which has its own copy of the bytes, while the caller waits. If a
/// hurry (`begin`) makes the caller give the call up, it throws `notAnswered`, and the thread stays in the store until
/// that answers. Until then no other call on the same file or folder is sent, because the store could make it first:
/// it waits, or is given up too. A flush that fails after it was given up makes each later one of the same file fail.
///
/// Without a hurry a call waits as long as it takes. Source: docs/EVICTION.md.
///
/// A call that changes nothing is repeated for a second if the store fails as a server does that comes back. No change
/// and no flush is: a server may report the failure of an earlier write once, with whatever call comes next.
public final class BoundedStore: Store {
    private let base: any Store
    private let calls: StoreCalls
    public let root: Descriptor
    public let orderedDevice: UInt64?

    /// As many calls can hang at once before another has to wait for a thread: twice as many as request threads.
    public static let usualThreads = 32

    /// So many threads more make parts of large reads.
    public static let usualHelpers = 12

    /// - Throws: why a thread cannot be created.
    public init(
        _ base: any Store, threads: Int = usualThreads, helpers: Int = usualHelpers
    ) throws(Errno) {
        self.base = base
        root = base.root
        orderedDevice = base.orderedDevice
        calls = try StoreCalls(threads: threads, helpers: helpers)
    }

    deinit { calls.stop() }

    /// From now on callers give up what the store does not answer in time. Does not wait.
    public func begin(_ hurry: Hurry) { calls.begin(hurry) }

    /// Ends a hurry. Calls that were given up stay so.
    public func finish(_ hurry: Hurry) { calls.finish(hurry) }

    /// How many calls were given up so far.
    public var givenUpCount: Int { calls.givenUpCount }

    /// Whether a call that was given up can still change the store.
    public var mayStillChange: Bool { calls.mayStillChange }

    /// Returns when no call that was given up can change the store any more. In a hurry to end the process it returns
    /// after a while, and the process must end: the kernel keeps its locks until the store has answered.
    public func awaitGivenUp() { calls.awaitGivenUp() }

    private func owned(_ file: Descriptor) -> Descriptor {
        file.handedOver { [calls] in calls.close($0) }
    }

    public func open(
        _ name: Name, in directory: Descriptor, _ flags: Int32, mode: UInt32
    ) throws(Errno) -> Descriptor {
        let open: StoreCall<Descriptor>.Body = { [base] () throws(Errno) in
            try base.open(name, in: directory, flags, mode: mode)
        }
        guard flags & (O_CREAT | O_TRUNC) == 0 else { return owned(try calls.make(.change, [directory], open)) }
        return owned(try calls.look([directory], open))
    }

    public func reopen(_ file: Descriptor, _ flags: Int32) throws(Errno) -> Descriptor {
        owned(try calls.look([file]) { [base] () throws(Errno) in try base.reopen(file, flags) })
    }

    public func read(
        _ file: Descriptor, into buffer: inout MutableRawSpan, at offset: Int64
    ) throws(Errno) -> Int {
        let parts = calls.parts(of: buffer.byteCount)
        let ends = try calls.look([file], atOnce: parts.map { readingBody(of: $0, file, offset) })
        var done = 0
        for (part, end) in zip(parts, ends) {
            let count = try end.get()
            part.memory.copy(count, to: &buffer, from: part.range.lowerBound)
            done += count
            // The file ends here, or ended when this part was read.
            if count < part.range.count { break }
        }
        return done
    }

    private func readingBody(of part: CallPart, _ file: Descriptor, _ offset: Int64) -> StoreCall<Int>.Body {
        { [base] () throws(Errno) in
            defer { withExtendedLifetime(part) {} }
            return try part.memory.fill { (bytes) throws(Errno) in
                try base.read(file, into: &bytes, at: offset + Int64(part.range.lowerBound))
            }
        }
    }

    public func write(_ bytes: RawSpan, to file: Descriptor, at offset: Int64) throws(Errno) {
        // A copy: the caller's memory may be used for something else before the store has taken it. In one part: each
        // has its price in a store that writes several copies.
        let memory = CallMemory(bytes)
        try calls.make(.change, [file]) { [base] () throws(Errno) in
            try memory.withBytes { (bytes) throws(Errno) in try base.write(bytes, to: file, at: offset) }
        }
    }

    public func attribute(
        _ name: String, of entry: Name, in directory: Descriptor, into value: inout MutableRawSpan
    ) throws(Errno) -> Int {
        let count = value.byteCount
        let bytes = try calls.make(.look, [directory]) { [base] () throws(Errno) in
            try Self.collect(count) { (bytes) throws(Errno) in
                try base.attribute(name, of: entry, in: directory, into: &bytes)
            }
        }
        value.take(bytes)
        return bytes.count
    }

    /// The bytes that `body` has put into a buffer of this size; it returns their number.
    private static func collect(
        _ count: Int, _ body: (inout MutableRawSpan) throws(Errno) -> Int
    ) throws(Errno) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var used = 0
        do {
            var elements = bytes.mutableSpan
            var all = unsafe elements.mutableBytes
            used = try body(&all)
        }
        bytes.removeLast(count - used)
        return bytes
    }

    public func synchronizeAll() throws(Errno) {
        try calls.make(.flushAll, []) { [base] () throws(Errno) in try base.synchronizeAll() }
    }

    public func statistics() throws(Errno) -> FileSystemStatistics {
        try calls.look([]) { [base] () throws(Errno) in try base.statistics() }
    }

    public func path(of file: Descriptor) throws(Errno) -> [UInt8] {
        try calls.look([file]) { [base] () throws(Errno) in try base.path(of: file) }
    }

    public func status(of name: Name, in directory: Descriptor) throws(Errno) -> FileStatus {
        try calls.look([directory]) { [base] () throws(Errno) in try base.status(of: name, in: directory) }
    }

    public func status(of file: Descriptor) throws(Errno) -> FileStatus {
        try calls.look([file]) { [base] () throws(Errno) in try base.status(of: file) }
    }

    public func birthTime(_ name: Name, in directory: Descriptor) throws(Errno) -> Timespec? {
        try calls.look([directory]) { [base] () throws(Errno) in try base.birthTime(name, in: directory) }
    }

    public func birthTime(_ file: Descriptor) throws(Errno) -> Timespec? {
        try calls.look([file]) { [base] () throws(Errno) in try base.birthTime(file) }
    }

    public func nextData(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try calls.look([file]) { [base] () throws(Errno) in try base.nextData(of: file, from: offset) }
    }

    public func nextHole(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64? {
        try calls.look([file]) { [base] () throws(Errno) in try base.nextHole(of: file, from: offset) }
    }

    public func noteAccess(to file: Descriptor) throws(Errno) {
        try calls.make(.look, [file]) { [base] () throws(Errno) in try base.noteAccess(to: file) }
    }

    public func truncate(_ file: Descriptor, to size: Int64) throws(Errno) {
        try calls.make(.change, [file]) { [base] () throws(Errno) in try base.truncate(file, to: size) }
    }

    public func allocate(_ file: Descriptor, mode: Int32, offset: Int64, length: Int64) throws(Errno) {
        try calls.make(.change, [file]) { [base] () throws(Errno) in
            try base.allocate(file, mode: mode, offset: offset, length: length)
        }
    }

    public func synchronize(_ file: Descriptor, dataOnly: Bool) throws(Errno) {
        try calls.make(.flush, [file]) { [base] () throws(Errno) in try base.synchronize(file, dataOnly: dataOnly) }
    }

    public func rename(
        _ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor, flags: UInt32
    ) throws(Errno) {
        try calls.make(.change, [directory, newDirectory]) { [base] () throws(Errno) in
            try base.rename(old, in: directory, to: new, in: newDirectory, flags: flags)
        }
    }

    public func link(_ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor) throws(Errno) {
        try calls.make(.change, [directory, newDirectory]) { [base] () throws(Errno) in
            try base.link(old, in: directory, to: new, in: newDirectory)
        }
    }

    public func unlink(_ name: Name, in directory: Descriptor) throws(Errno) {
        try calls.make(.change, [directory]) { [base] () throws(Errno) in try base.unlink(name, in: directory) }
    }

    public func removeDirectory(_ name: Name, in directory: Descriptor) throws(Errno) {
        try calls.make(.change, [directory]) { [base] () throws(Errno) in
            try base.removeDirectory(name, in: directory)
        }
    }

    public func makeDirectory(_ name: Name, in directory: Descriptor, mode: UInt32) throws(Errno) {
        try calls.make(.change, [directory]) { [base] () throws(Errno) in
            try base.makeDirectory(name, in: directory, mode: mode)
        }
    }

    public func makeNode(_ name: Name, in directory: Descriptor, mode: UInt32, device: UInt64) throws(Errno) {
        try calls.make(.change, [directory]) { [base] () throws(Errno) in
            try base.makeNode(name, in: directory, mode: mode, device: device)
        }
    }

    public func makeSymbolicLink(to target: [UInt8], _ name: Name, in directory: Descriptor) throws(Errno) {
        try calls.make(.change, [directory]) { [base] () throws(Errno) in
            try base.makeSymbolicLink(to: target, name, in: directory)
        }
    }

    public func readSymbolicLink(_ name: Name, in directory: Descriptor) throws(Errno) -> [UInt8] {
        try calls.look([directory]) { [base] () throws(Errno) in try base.readSymbolicLink(name, in: directory) }
    }

    public func entries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try calls.look([directory]) { [base] () throws(Errno) in try base.entries(of: directory) }
    }

    // It moves the open folder's offset: another call must not begin where this one has not been yet.
    public func nextEntries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry] {
        try calls.make(.change, [directory]) { [base] () throws(Errno) in try base.nextEntries(of: directory) }
    }

    public func setMode(_ mode: UInt32, of name: Name, in directory: Descriptor) throws(Errno) {
        try calls.make(.change, [directory]) { [base] () throws(Errno) in
            try base.setMode(mode, of: name, in: directory)
        }
    }

    public func setMode(_ mode: UInt32, of file: Descriptor) throws(Errno) {
        try calls.make(.change, [file]) { [base] () throws(Errno) in try base.setMode(mode, of: file) }
    }

    public func setOwner(user: UInt32?, group: UInt32?, of name: Name, in directory: Descriptor) throws(Errno) {
        try calls.make(.change, [directory]) { [base] () throws(Errno) in
            try base.setOwner(user: user, group: group, of: name, in: directory)
        }
    }

    public func setOwner(user: UInt32?, group: UInt32?, of file: Descriptor) throws(Errno) {
        try calls.make(.change, [file]) { [base] () throws(Errno) in
            try base.setOwner(user: user, group: group, of: file)
        }
    }

    public func setTimes(
        accessed: TimeChange, modified: TimeChange, of name: Name, in directory: Descriptor
    ) throws(Errno) {
        try calls.make(.change, [directory]) { [base] () throws(Errno) in
            try base.setTimes(accessed: accessed, modified: modified, of: name, in: directory)
        }
    }

    public func setTimes(accessed: TimeChange, modified: TimeChange, of file: Descriptor) throws(Errno) {
        try calls.make(.change, [file]) { [base] () throws(Errno) in
            try base.setTimes(accessed: accessed, modified: modified, of: file)
        }
    }

    public func attribute(_ name: String, of file: Descriptor) throws(Errno) -> [UInt8] {
        try calls.make(.look, [file]) { [base] () throws(Errno) in try base.attribute(name, of: file) }
    }

    public func setAttribute(_ name: String, to value: [UInt8], flags: Int32, of file: Descriptor) throws(Errno) {
        try calls.make(.change, [file]) { [base] () throws(Errno) in
            try base.setAttribute(name, to: value, flags: flags, of: file)
        }
    }

    public func removeAttribute(_ name: String, of file: Descriptor) throws(Errno) {
        try calls.make(.change, [file]) { [base] () throws(Errno) in try base.removeAttribute(name, of: file) }
    }

    public func attributeNames(of file: Descriptor) throws(Errno) -> [String] {
        try calls.make(.look, [file]) { [base] () throws(Errno) in try base.attributeNames(of: file) }
    }

    public func lockExclusively(_ file: Descriptor) throws(Errno) {
        try calls.make(.look, [file]) { [base] () throws(Errno) in try base.lockExclusively(file) }
    }

    // A change: a lock that was given up may still come, so no later one of the same file may overtake it.
    public func lock(_ range: ByteRange, _ kind: RangeLock?, of file: Descriptor) throws(Errno) -> Bool {
        try calls.make(.change, [file]) { [base] () throws(Errno) in try base.lock(range, kind, of: file) }
    }

    public func obstacle(
        to kind: RangeLock, of range: ByteRange, in file: Descriptor
    ) throws(Errno) -> (RangeLock, ByteRange)? {
        try calls.look([file]) { [base] () throws(Errno) in
            try base.obstacle(to: kind, of: range, in: file).map { Obstacle(kind: $0, range: $1) }
        }.map { ($0.kind, $0.range) }
    }

    private struct Obstacle: Sendable {
        let kind: RangeLock
        let range: ByteRange
    }
}

extension MutableRawSpan {
    /// Begins with these bytes from now on.
    fileprivate mutating func take(_ bytes: [UInt8]) {
        unsafe withUnsafeMutableBytes { unsafe $0.copyBytes(from: bytes) }
    }
}

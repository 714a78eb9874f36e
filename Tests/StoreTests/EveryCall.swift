import Glibc
import Posix
import Store
import Testing

/// Makes every call of a store at least once over an empty folder, and checks what each has done.
///
/// Leaves the folder with files, a directory, links and nodes of every kind that an ordinary user may make.
func makeEveryCall(to store: any Store) throws {
    let root = store.root
    let file = try store.make("file")
    try store.put(Array("hello world".utf8), to: file)
    #expect(try store.bytes(of: file, 5, at: 6) == Array("world".utf8))
    try store.truncate(file, to: 5)
    try store.allocate(file, mode: 0, offset: 0, length: 4096)
    #expect(try store.status(of: file).size == 4096)
    try store.truncate(file, to: 5)
    #expect(try store.bytes(of: store.reopen(file, O_RDONLY), 5, at: 0) == Array("hello".utf8))
    try store.synchronize(file, dataOnly: true)
    try store.lockExclusively(file)
    #expect(try store.lock(ByteRange(byte: 7), .exclusive, of: file))
    let other = try store.reopen(file, O_RDWR)
    #expect(try store.obstacle(to: .shared, of: ByteRange(0, until: .max)!, in: other)?.1 == ByteRange(byte: 7))
    #expect(try !store.lock(ByteRange(5, until: 9)!, .shared, of: other))
    #expect(try store.lock(ByteRange(byte: 7), nil, of: file))
    #expect(try store.obstacle(to: .exclusive, of: ByteRange(byte: 7), in: other) == nil)

    try store.makeDirectory("directory", in: root, mode: 0o700)
    let directory = try store.open("directory", in: root, O_RDONLY | O_DIRECTORY)
    try store.synchronize(directory, dataOnly: false)
    try store.link("file", in: root, to: "second", in: directory)
    #expect(try store.status(of: "second", in: directory).linkCount == 2)
    try store.makeNode("fifo", in: directory, mode: S_IFIFO | 0o600, device: 0)
    try store.makeSymbolicLink(to: Array("target".utf8), "symlink", in: root)
    #expect(try store.readSymbolicLink("symlink", in: root) == Array("target".utf8))

    let replaced = try store.make("replaced")
    try store.put([1, 2, 3], to: replaced)
    try store.rename("replaced", in: root, to: "renamed", in: directory)
    try store.rename("renamed", in: directory, to: "second", in: directory, flags: RENAME_EXCHANGE)
    #expect(throws: Posix.Errno.EEXIST) {
        try store.rename("second", in: directory, to: "fifo", in: directory, flags: RENAME_NOREPLACE)
    }
    // Written after it has lost its name.
    let nameless = try store.make("nameless")
    try store.unlink("nameless", in: root)
    try store.put([4, 5, 6], to: nameless)
    try store.makeDirectory("removed", in: root, mode: 0o700)
    try store.removeDirectory("removed", in: root)

    try store.setMode(0o640, of: file)
    try store.setMode(0o611, of: "fifo", in: directory)
    try store.setOwner(user: nil, group: getgid(), of: file)
    try store.setOwner(user: getuid(), group: nil, of: "symlink", in: root)
    let time = Timespec(seconds: 1_000_000_000, nanoseconds: 5)
    try store.setTimes(accessed: .keep, modified: .at(time), of: file)
    try store.setTimes(accessed: .at(time), modified: .at(time), of: "symlink", in: root)
    #expect(try store.status(of: "file", in: root).modified == time)
    try store.setAttribute("user.keep", to: [7, 8], of: file)
    try store.setAttribute("user.drop", to: [9], flags: XATTR_CREATE, of: file)
    #expect(try store.attributeNames(of: file).filter { $0.hasPrefix("user.") }.sorted() == ["user.drop", "user.keep"])
    try store.removeAttribute("user.drop", of: file)
    #expect(try store.attribute("user.keep", of: file) == [7, 8])

    #expect(try store.names() == ["file", "directory", "symlink"])
    let listing = try store.open(".", in: root, O_RDONLY | O_DIRECTORY)
    #expect(Set(try store.nextEntries(of: listing).map(\.name)) == ["file", "directory", "symlink"])
    #expect(try store.nextEntries(of: listing).isEmpty)
    #expect(try store.nextData(of: file, from: 0) == 0)
    #expect(try store.nextData(of: file, from: 4096) == nil)
    #expect(try store.nextHole(of: file, from: 0) == store.status(of: file).size)
    #expect(try store.nextHole(of: file, from: 4096) == nil)
    let accessed = try store.status(of: file).accessed
    try store.setTimes(accessed: .at(Timespec(seconds: 1, nanoseconds: 0)), modified: .keep, of: file)
    try store.noteAccess(to: file)
    #expect(try store.status(of: file).accessed.seconds >= accessed.seconds)
    #expect(try store.names(in: directory) == ["second", "renamed", "fifo"])
    #expect(try store.statistics().maximumNameLength >= 255)
    try store.synchronizeAll()
}

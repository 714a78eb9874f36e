import Glibc
import Posix
import TestSupport
import Testing

@Suite struct ContentsTests {
    let folder = try! TemporaryFolder()

    @Test func writesAndReadsAtOffsets() throws {
        let file = try folder.descriptor().open("f", O_RDWR | O_CREAT, mode: 0o600)
        try file.put(Array("hello".utf8), at: 3)
        #expect(try file.bytes(100) == [0, 0, 0] + Array("hello".utf8))
        #expect(try file.bytes(2, at: 3) == Array("he".utf8))
        #expect(try file.bytes(10, at: 8) == [])
        #expect(throws: Posix.Errno.EINVAL) { try file.bytes(1, at: -1) }
        try file.truncate(to: 4)
        #expect(try file.status().size == 4)
        try file.allocate(mode: 0, offset: 0, length: 8192)
        #expect(try file.status().size == 8192)
        try file.allocate(mode: FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset: 0, length: 4096)
        #expect(try file.bytes(4) == [0, 0, 0, 0])
        try file.synchronize(dataOnly: true)
        try file.synchronize(dataOnly: false)
        try file.synchronizeFileSystem()
    }

    @Test func movesNothingForEmptyBuffers() throws {
        let file = try folder.descriptor().open("f", O_RDWR | O_CREAT, mode: 0o600)
        try file.put([UInt8](), at: 9)
        #expect(try file.bytes(0) == [])
        #expect(try file.status().size == 0)
    }

    @Test func failsWithTheCallsError() throws {
        let file = try folder.descriptor().open("f", O_RDONLY | O_CREAT, mode: 0o600)
        #expect(throws: Posix.Errno.EBADF) { try file.put([1], at: 0) }
        #expect(throws: Posix.Errno.EISDIR) { try folder.descriptor().bytes(1) }
        #expect(throws: Posix.Errno.EINVAL) { try file.truncate(to: 1) }
    }

    @Test func locksOncePerOpenFile() throws {
        let file = try folder.descriptor().open("f", O_RDWR | O_CREAT, mode: 0o600)
        try file.lockExclusively()
        let copy = try file.duplicate()
        try copy.lockExclusively()
        let other = try folder.descriptor().open("f", O_RDWR)
        #expect(throws: Posix.Errno.EWOULDBLOCK) { try other.lockExclusively() }
    }

    @Test func closesWithItsLastReference() throws {
        let (number, identity) = try {
            let file = try folder.descriptor().open("f", O_RDWR | O_CREAT, mode: 0o600)
            return (file.number, try file.status().inode)
        }()
        var status = stat()
        // Another thread may have got this descriptor number by now, but not the file.
        let result = unsafe fstat(number, &status)
        #expect(result == -1 || UInt64(status.st_ino) != identity)
    }

    @Test func memoryFilesKeepBytes() throws {
        let file = try Descriptor.memoryFile("passcode")
        try file.put(Array("secret".utf8))
        #expect(try file.bytes(10) == Array("secret".utf8))
    }
}

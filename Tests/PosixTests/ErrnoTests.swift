import Glibc
import Posix
import Testing

@Suite struct ErrnoTests {
    @Test func describesItself() {
        #expect(Posix.Errno.ENOKEY.description == "Required key not available")
        #expect(Posix.Errno.ENOKEY.name == "ENOKEY")
        #expect(Posix.Errno(rawValue: 4095).description == "Unknown error 4095")
        #expect(Posix.Errno(rawValue: 4095).name == "4095")
    }

    @Test func isThrownByAFailedCall() {
        #expect(throws: Posix.Errno.ENOENT) { try Descriptor.open(path: "/nowhere/at/all", O_RDONLY) }
        #expect(throws: Posix.Errno.EINVAL) { try Descriptor.open(path: "/tmp\0/x", O_RDONLY) }
    }
}

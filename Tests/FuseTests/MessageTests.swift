import CFuse
import Posix
import Testing

@testable import Fuse

struct MessageTests {
    private func message(_ words: [UInt32]) -> [UInt8] {
        [UInt8](repeating: 0, count: Received.headerByteCount)
            + words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }

    /// FUSE_INIT of Linux 5.16 and earlier has four numbers, that of later kernels sixteen.
    @Test(arguments: [4, 16, 20]) func anInitOfAnyLength(count: Int) throws {
        let words = (1...UInt32(count)).map { $0 }
        try unsafe message(words).withUnsafeBytes { bytes in
            let received = try #require(unsafe Received(message: bytes))
            let offer = try received.fixed(atLeast: 16, of: fuse_init_in())
            #expect(offer.major == 1 && offer.minor == 2 && offer.max_readahead == 3 && offer.flags == 4)
            #expect(offer.flags2 == (count == 4 ? 0 : 5))
        }
    }

    @Test func anInitThatIsCut() throws {
        try unsafe message([7, 45, 0]).withUnsafeBytes { bytes in
            let received = try #require(unsafe Received(message: bytes))
            #expect(throws: Errno.EIO) { try received.fixed(atLeast: 16, of: fuse_init_in()) }
            #expect(throws: Errno.EIO) { try received.fixed(fuse_init_in.self) }
        }
        #expect(unsafe Received(message: UnsafeRawBufferPointer(start: nil, count: 0)) == nil)
    }
}

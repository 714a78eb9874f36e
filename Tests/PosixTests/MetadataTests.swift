import Glibc
import Posix
import TestSupport
import Testing

@Suite struct MetadataTests {
    let folder = try! TemporaryFolder()
    let file: Descriptor
    /// The same file, opened with O_PATH.
    let path: Descriptor

    init() throws {
        file = try folder.descriptor().open("f", O_RDWR | O_CREAT, mode: 0o600)
        path = try folder.descriptor().open("f", O_PATH)
    }

    @Test func setsModes() throws {
        try file.setMode(0o640)
        #expect(try file.status().permissions == 0o640)
        try path.setMode(0o604)
        #expect(try path.status().permissions == 0o604)
        try folder.descriptor().setMode(0o400, of: "f")
        #expect(try file.status().mode == S_IFREG | 0o400)
        try folder.descriptor().makeSymbolicLink(to: [0x66], "link")
        #expect(throws: Posix.Errno.EOPNOTSUPP) { try folder.descriptor().setMode(0o600, of: "link") }
    }

    @Test func setsOwners() throws {
        let before = try file.status()
        try file.setOwner(user: nil, group: nil)
        try path.setOwner(user: before.owner, group: before.group)
        try folder.descriptor().setOwner(user: nil, group: before.group, of: "f")
        #expect(try file.status().owner == before.owner)
        if getuid() == 0 {
            try path.setOwner(user: 12, group: nil)
            try folder.descriptor().setOwner(user: nil, group: 34, of: "f")
            #expect(try file.status().owner == 12)
            #expect(try file.status().group == 34)
        } else {
            #expect(throws: Posix.Errno.EPERM) { try file.setOwner(user: 0, group: nil) }
        }
    }

    @Test(arguments: [-5, 0, 1_700_000_000, 4_000_000_000] as [Int64])
    func setsTimes(seconds: Int64) throws {
        let time = Timespec(seconds: seconds, nanoseconds: 123_456_789)
        try file.setTimes(accessed: .at(time), modified: .keep)
        #expect(try file.status().accessed == time)
        #expect(try file.status().modified != time)
        try path.setTimes(accessed: .now, modified: .at(time))
        #expect(try file.status().modified == time)
        #expect(try file.status().accessed != time)
        try folder.descriptor().makeSymbolicLink(to: [0x66], "link")
        try folder.descriptor().setTimes(accessed: .keep, modified: .at(time), of: "link")
        #expect(try folder.descriptor().status(of: "link").modified == time)
    }

    @Test func keepsAttributes() throws {
        #expect(throws: Posix.Errno.ENODATA) { try file.attribute("user.a") }
        try file.setAttribute("user.a", to: [1, 2, 0])
        #expect(try path.attribute("user.a") == [1, 2, 0])
        #expect(throws: Posix.Errno.EEXIST) { try file.setAttribute("user.a", to: [], flags: XATTR_CREATE) }
        #expect(throws: Posix.Errno.ENODATA) { try file.setAttribute("user.b", to: [], flags: XATTR_REPLACE) }
        try path.setAttribute("user.empty", to: [])
        #expect(try file.attribute("user.empty") == [])
        let large = [UInt8](repeating: 7, count: 3000)
        try file.setAttribute("user.large", to: large)
        #expect(try file.attribute("user.large") == large)
        let names = try path.attributeNames().filter { $0.hasPrefix("user.") }
        #expect(names.sorted() == ["user.a", "user.empty", "user.large"])
        try path.removeAttribute("user.a")
        #expect(throws: Posix.Errno.ENODATA) { try file.removeAttribute("user.a") }
        #expect(throws: Posix.Errno.EOPNOTSUPP) { try file.attribute("nonsense") }
    }

    @Test func describesTheFileSystem() throws {
        let statistics = try file.fileSystemStatistics()
        #expect(statistics.maximumNameLength == 255)
        #expect(statistics.blocks > 0 && statistics.freeBlocks <= statistics.blocks)
    }
}

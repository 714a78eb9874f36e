import Posix
import Testing

@testable import Administration

@Suite struct MountTableTests {
    /// A name that ends in a carriage return, and one that begins with what is drawn over the character before it.
    @Test func noNameHidesAMount() {
        let table = """
            30 1 0:30 / /a rw shared:1 - overlay overlay rw,lowerdir=/x\r
            31 1 0:31 / /b\\012\\040\u{301} rw shared:2 - fuse.latchkey \u{301}vault rw,user_id=5,group_id=0

            """
        let mounts = MountTable(Array(table.utf8))
        #expect(mounts.entries.map(\.mountPoint) == ["/a", "/b\n \u{301}"])
        #expect(mounts.entries.map(\.isLatchkey) == [false, true])
        #expect(mounts.entries.last?.source == "\u{301}vault" && mounts.entries.last?.user == 5)
        #expect(mounts.latchkeyMount(device: 31) != nil)
    }

    /// The kernel writes bytes as they are, and four characters in octal.
    @Test func aMountPointAndASourceOfAnyBytesAreFound() {
        let table =
            Array("30 1 0:30 / /m".utf8) + [0xff] + Array("\\012\\134 rw - fuse.latchkey /v".utf8) + [0xfe]
            + Array("\\040 rw,user_id=5\n".utf8)
        let point = Path(bytes: Array("/m".utf8) + [0xff] + Array("\n\\".utf8))
        let mounts = MountTable(table)
        #expect(mounts.mount(at: point)?.source == Path(bytes: Array("/v".utf8) + [0xfe] + Array(" ".utf8)))
        #expect(mounts.mount(holding: point + "/x")?.user == 5)
        #expect(mounts.mount(at: "/m\u{fffd}\n\\") == nil)
    }

    /// One name to Unicode, and two folders.
    @Test func aComposedNameIsNotTheDecomposedOne() {
        let table = """
            30 1 0:30 / /e\u{301} rw - fuse.latchkey /v rw,user_id=5
            31 1 0:31 / /\u{e9} rw - fuse.latchkey /w rw,user_id=6

            """
        let mounts = MountTable(Array(table.utf8))
        #expect(mounts.mount(at: "/e\u{301}")?.user == 5 && mounts.mount(at: "/\u{e9}")?.user == 6)
        #expect(mounts.mount(holding: "/e\u{301}/x")?.user == 5 && mounts.mount(holding: "/\u{e9}/x")?.user == 6)
        #expect(!AbsolutePath(known: "/\u{e9}/x").isInside(AbsolutePath(known: "/e\u{301}")))
    }
}

@Suite struct PathTests {
    @Test(arguments: [
        ("/a/b", "/a/b", true), ("/a/b/c", "/a/b", true), ("/a/bc", "/a/b", false), ("/a", "/a/b", false),
        ("/a", "/", true),
    ])
    func liesInsideByWholeComponents(_ path: String, _ folder: String, _ isInside: Bool) {
        #expect(AbsolutePath(known: Path(path)).isInside(AbsolutePath(known: Path(folder))) == isInside)
    }

    @Test(arguments: [("/a/../b/./c/", "/b/c"), ("/", "/"), ("/../..", "/")])
    func resolvesByText(_ typed: String, _ expected: String) {
        #expect(AbsolutePath(lexically: Path(typed)).path == Path(expected))
    }

    @Test func keepsWhatIsMissing() throws {
        #expect(try AbsolutePath(ofPerhapsMissing: "/proc/../no such/folder/").path == "/no such/folder")
        #expect(try AbsolutePath(ofPerhapsMissing: "/").path == "/")
    }

    @Test func findsTheMountOfAPath() throws {
        let table = try MountTable()
        #expect(table.mount(at: "/proc")?.type == "proc")
        #expect(table.mount(holding: "/proc/self/status")?.mountPoint == "/proc")
        let status = try Descriptor.open(path: "/proc/self", 0).status()
        #expect(table.mount(at: "/proc")?.device == status.device)
        #expect(table.latchkeyMount(device: status.device) == nil)
    }
}

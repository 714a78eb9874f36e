import Posix
import Testing

@Suite struct NameTests {
    @Test func takesAnyBytesButSlashAndNul() {
        #expect(Name(bytes: [0xff, 0x01, 0x20])?.bytes == [0xff, 0x01, 0x20])
        #expect(Name(bytes: "a/b".utf8) == nil)
        #expect(Name(bytes: [0x61, 0]) == nil)
    }

    @Test func holdsOneTo255Bytes() {
        #expect(Name(bytes: []) == nil)
        #expect(Name(bytes: repeatElement(0x61, count: 255)) != nil)
        #expect(Name(bytes: repeatElement(0x61, count: 256)) == nil)
    }

    @Test func knowsDotAndDotDot() {
        #expect([".", ".."].allSatisfy { Name(bytes: $0.utf8) == nil })
        #expect([Name.current, .parent].allSatisfy { $0.isDotOrDotDot })
        #expect((["a", "...", ".a"] as [Name]).allSatisfy { !$0.isDotOrDotDot })
    }

    @Test func lendsATerminatedString() {
        let name: Name = "héllo"
        #expect(unsafe name.withCString { unsafe String(cString: $0) } == "héllo")
        #expect(name.description == "héllo")
    }
}

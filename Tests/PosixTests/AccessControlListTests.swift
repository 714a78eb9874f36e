import Testing

@testable import Posix

@Suite struct AccessControlListTests {
    typealias List = AccessControlList

    private static let named = List([
        .init(.owner, 7), .init(.user, 6, 1000), .init(.owningGroup, 5), .init(.mask, 4), .init(.others, 1),
    ])!

    @Test func isReadAsItIsWritten() {
        let bytes = Self.named.encoded
        #expect(bytes.count == 4 + 5 * 8)
        #expect(bytes.prefix(12) == [2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255])
        #expect(List(decoding: bytes) == Self.named)
        #expect(List(decoding: List(mode: 0o640).encoded) == List(mode: 0o640))
    }

    @Test func refusesWhatIsNone() {
        let bytes = Self.named.encoded
        for count in 0..<bytes.count { #expect(List(decoding: Array(bytes.prefix(count))) == nil) }
        var other = bytes
        other[0] = 3
        #expect(List(decoding: other) == nil)
        other = bytes
        other[6] = 8
        #expect(List(decoding: other) == nil, "no such permission")
        #expect(List([]) == nil)
        #expect(
            List([.init(.owner, 7), .init(.user, 7, 1), .init(.owningGroup, 7), .init(.others, 7)]) == nil)
        #expect(List([.init(.owningGroup, 7), .init(.owner, 7), .init(.others, 7)]) == nil, "out of order")
        #expect(List([.init(.owner, 7), .init(.owner, 7), .init(.owningGroup, 7), .init(.others, 7)]) == nil)
    }

    @Test func followsTheModeAndTheModeIt() {
        #expect(Self.named.mode == 0o741)
        #expect(!Self.named.isMode)
        #expect(Self.named.modeWithoutList == 0o741, "the group may what its entry and the mask allow")
        var list = Self.named
        list.change(toMode: 0o620)
        #expect(list.mode == 0o620)
        #expect(list.entries.map(\.permissions) == [6, 6, 5, 2, 0])
        #expect(list.modeWithoutList == 0o600)
        #expect(List(mode: 0o4751).mode == 0o751)
        #expect(List(mode: 0o751).isMode)
    }

    @Test func isInheritedAsFarAsTheModeGoes() {
        let list = Self.named.inherited(mode: 0o666)
        #expect(list.mode == 0o640)
        #expect(list.entries.map(\.permissions) == [6, 6, 5, 4, 0])
    }
}

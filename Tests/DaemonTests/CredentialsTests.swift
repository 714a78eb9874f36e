import Glibc
import Testing

@testable import Mount

/// What /proc says about a caller that may be hostile.
@Suite struct CredentialsTests {
    private static let lines = [
        "Name:\tprogram", "Uid:\t1\t2\t3\t4", "Gid:\t5\t6\t7\t8", "FDSize:\t64", "Groups:\t88 4294967294 ",
        "CapInh:\t0", "CapEff:\t0000000000000010", "Seccomp:\t0",
    ]

    private func parsed(_ lines: [String]) -> Credentials? {
        Credentials(Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    @Test func areThoseOfTheFileSystem() throws {
        let found = try #require(parsed(Self.lines))
        #expect(found.user == 4 && found.group == 8 && found.groups == [88, 4_294_967_294] && found.hasFSETID)
        let without = Self.lines.map { $0.hasPrefix("CapEff") ? "CapEff:\tffffffffffffffef" : $0 }
        #expect(parsed(without)?.hasFSETID == false)
        #expect(parsed(Self.lines.map { $0.hasPrefix("Groups") ? "Groups:\t" : $0 })?.groups == [])
    }

    /// If the list of groups is longer than the buffer, the text ends in the middle of a line.
    @Test func areNotBelievedInPart() {
        let whole = Array((Self.lines.joined(separator: "\n") + "\n").utf8)
        let needed = Self.lines[..<7].joined(separator: "\n").utf8.count + 1
        for count in 0..<needed { #expect(Credentials(Array(whole[..<count])) == nil, "\(count) bytes") }
        for missing in [1, 2, 4, 6] {
            var lines = Self.lines
            lines.remove(at: missing)
            #expect(parsed(lines) == nil, "\(Self.lines[missing])")
        }
    }

    /// The first line of each kind counts; the kernel writes a newline in a program's name as \n.
    @Test func areNotForgedByAName() {
        #expect(parsed(["Name:\tx\\nUid:\t0\t0\t0\t0"] + Self.lines.dropFirst())?.user == 4)
        #expect(parsed(Self.lines + ["Uid:\t0\t0\t0\t0", "Groups:\t77"])?.groups == [88, 4_294_967_294])
    }

    @Test func ofThisProcess() throws {
        let own = Caller(thread: getpid()).credentials
        let found = try #require(own)
        #expect(found.user == geteuid() && found.group == getegid())
        #expect(Caller(thread: 0).credentials == nil)
    }
}

import Format
import Foundation
import Posix
import Store
import Testing

@testable import Vault

/// Files of the same ID: a copier that does not know of hard links has made several files of one.
@Suite struct DuplicateTests {
    private static let old = [UInt8](repeating: 1, count: 5000)
    private static let new = [UInt8](repeating: 2, count: 5000)

    /// `one` and `two`, duplicates that hold `old`, in a vault that was just opened.
    ///
    /// - Parameter links: further names of `one`.
    private static func vault(
        _ one: Name, _ two: Name, _ links: [Name] = []
    ) throws -> (test: TestVault, vault: Vault, root: Directory) {
        let test = try TestVault()
        do {
            let file = try test.create(one)
            try file.write(old, at: 0)
            for name in [two] + links { try test.vault.link(one, in: test.root, file: file, to: name, in: test.root) }
        }
        try test.vault.checkpoint()
        let path = try path(of: two, of: test)
        try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
        #expect(unsafe rename(path + ".copy", path) == 0)
        let (vault, root) = try test.afterDeath()
        return (test, vault, root)
    }

    private static func path(of name: Name, of test: TestVault) throws -> String {
        "\(test.path)/\(try test.vault.storedName(name, in: test.root).name)"
    }

    /// Writes to a file whose header is that of its duplicate, or was written so many times since.
    private static func write(to file: File, after headers: Int) throws {
        for _ in 0..<headers { try file.setTimes(accessed: .keep, modified: .now) }
        try file.write(new, at: 0)
        try file.synchronize(dataOnly: true)
    }

    /// The contents of each file in the next session.
    private static func contents(_ names: [Name], of test: TestVault) throws -> [[UInt8]] {
        let (vault, root) = try test.afterDeath()
        return try names.map { try vault.openFile($0, in: root).contents(20_000) }
    }

    /// The path of a descriptor whose name has gone cannot be read. Many names are needed: the order in which a folder
    /// lists its files is chance.
    @Test(arguments: 0..<8, [0, 4]) func oneIsWrittenToAfterItsNameIsRemoved(number: Int, headers: Int) throws {
        let (one, two, three) = (Name(ascii: "a\(number)"), Name(ascii: "b\(number)"), Name(ascii: "c\(number)"))
        let (test, vault, root) = try Self.vault(one, two)
        let file = try vault.openFile(one, in: root)
        try vault.link(one, in: root, file: file, to: three, in: root)
        try vault.unlink(one, in: root)
        // The last file found and the first one: some stores list the newest first.
        if number % 2 == 0 {
            let path = try Self.path(of: two, of: test)
            #expect(unsafe rename(path, path + ".new") == 0 && rename(path + ".new", path) == 0)
        }
        try Self.write(to: file, after: headers)
        #expect(try Self.contents([two, three], of: test) == [Self.old, Self.new])
    }

    /// The header of a file of so many links has no bindings.
    @Test(arguments: 0..<8, [0, 4]) func oneOfManyLinksIsWrittenTo(number: Int, headers: Int) throws {
        let (one, two) = (Name(ascii: "a\(number)"), Name(ascii: "b\(number)"))
        let links = (0..<FileHeader.mostBindings).map { Name(ascii: "\(number) \($0)") }
        let (test, vault, root) = try Self.vault(one, two, links)
        let file = try vault.openFile(one, in: root)
        #expect(file.header.bindings.isEmpty)
        for name in [one] + links.dropFirst() { try vault.unlink(name, in: root) }
        try Self.write(to: file, after: headers)
        #expect(try Self.contents([two, links[0]], of: test) == [Self.old, Self.new])
    }

    /// - Parameter wereOpen: in an earlier session, so that the header of each shows a single name.
    @Test(arguments: 0..<6, [false, true]) func oneTakesTheNameOfARemovedOne(headers: Int, wereOpen: Bool) throws {
        var (test, vault, root) = try Self.vault("one", "two")
        if wereOpen {
            for name: Name in ["one", "two"] {
                #expect(try vault.openFile(name, in: root).header.bindings.count == 1)
            }
            try vault.checkpoint()
            (vault, root) = try test.afterDeath()
        }
        do {
            let file = try vault.openFile("one", in: root)
            try Self.write(to: file, after: headers)
        }
        try vault.unlink("one", in: root)
        let other = try vault.openFile("two", in: root)
        try vault.rename(
            vault.renameEnd("two", in: root), .file(other), to: vault.renameEnd("one", in: root), replaced: nil,
            RenameKind())
        #expect(try Self.contents(["one"], of: test) == [Self.old])
    }
}

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
    private static func vault(_ one: Name, _ two: Name) throws -> (test: TestVault, vault: Vault, root: Directory) {
        let test = try TestVault()
        do {
            let file = try test.create(one)
            try file.write(old, at: 0)
            try test.vault.link(one, in: test.root, file: file, to: two, in: test.root)
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

    /// Writes to a file so that its records fit its duplicate too, by their generations.
    private static func write(to file: File) throws {
        for _ in 0..<4 { try file.setTimes(accessed: .keep, modified: .now) }
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
    @Test(arguments: 0..<8) func oneIsWrittenToAfterItsNameIsRemoved(number: Int) throws {
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
        try Self.write(to: file)
        #expect(try Self.contents([two, three], of: test) == [Self.old, Self.new])
    }

    @Test func oneTakesTheNameOfARemovedOne() throws {
        let (test, vault, root) = try Self.vault("one", "two")
        do {
            let file = try vault.openFile("one", in: root)
            try Self.write(to: file)
        }
        try vault.unlink("one", in: root)
        let other = try vault.openFile("two", in: root)
        try vault.rename(
            vault.renameEnd("two", in: root), .file(other), to: vault.renameEnd("one", in: root), replaced: nil,
            RenameKind())
        #expect(try Self.contents(["one"], of: test) == [Self.old])
    }
}

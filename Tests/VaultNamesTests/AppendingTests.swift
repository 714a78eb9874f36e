import Foundation
import Glibc
import TestSupport
import Testing

@testable import VaultNames

/// The file as a user keeps it: what a new name changes in it, and when it is not read.
@Suite struct AppendingTests {
    private let temporary = try! TemporaryFolder()
    private var folders: UserFolders {
        UserFolders { [home = temporary.path] in ["HOME": home][$0] }
    }
    private var path: String { folders.namedVaults }

    private func add(_ name: String, at folder: String? = nil, guarded: Bool? = nil, key: String? = nil) throws {
        let name = try #require(VaultName(name))
        var vault = NamedVault(
            name, folder: folder ?? "/vaults/\(name)", mountPoint: temporary.path + "/\(name)")
        vault.guardsMountPoint = guarded
        vault.deviceKey = key
        try NamedVaults.append(vault, folders)
    }

    private func text() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func mode(of path: String) -> mode_t {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do { try body() } catch { return "\(error)" }
        return nil
    }

    @Test func theFirstOne() throws {
        #expect(try NamedVaults.load(folders).vaults.isEmpty)
        try add("work", guarded: true)
        #expect(
            try text()
                == "[vaults.work]\nfolder = \"/vaults/work\"\nmount = \"~/work\"\nguard-mount-point = true\n")
        #expect(mode(of: path) == 0o600 && mode(of: folders.configuration) == 0o700)
        try add("mail.2", at: "/it's", key: "/keys/\"x\"")
        #expect(
            try text().hasSuffix(
                "\n\n[vaults.\"mail.2\"]\nfolder = \"/it's\"\nmount = \"~/mail.2\"\ndevice-key = '/keys/\"x\"'\n"))
        let read = try NamedVaults.load(folders)
        #expect(read.vaults.map(\.folder) == ["/vaults/work", "/it's"])
        #expect(read["mail.2"]?.deviceKey == "/keys/\"x\"")
        #expect(read["work"]?.guardsMountPoint == true && read["mail.2"]?.guardsMountPoint == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folders.configuration) == ["config.toml"])
    }

    @Test func whatTheUserWroteStays() throws {
        try add("work")
        let mine = "# mine: é\r\n  [ vaults . old ]\nfolder='/o'   # as it is"
        try mine.write(toFile: path, atomically: false, encoding: .utf8)
        #expect(unsafe chmod(path, 0o644) == 0)
        try add("new")
        #expect(try text().hasPrefix(mine + "\n\n[vaults.new]\n"))
        #expect(mode(of: path) == 0o644)
    }

    @Test func aLinkIsFollowed() throws {
        try add("work")
        let kept = temporary.path + "/dotfiles.toml"
        #expect(unsafe rename(path, kept) == 0 && symlink("../../dotfiles.toml", path) == 0)
        try add("new")
        #expect(mode(of: kept) == 0o600)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "../../dotfiles.toml")
        #expect(try String(contentsOfFile: kept, encoding: .utf8).contains("[vaults.new]"))
    }

    @Test func whatIsTaken() throws {
        try add("work")
        let before = try text()
        #expect(refusal { try add("work", at: "/else") }?.contains("the table vaults.work is there already") == true)
        #expect(refusal { try add("new", at: "/vaults/work") }?.contains("is that of the vault work already") == true)
        #expect(
            refusal { try add("new", at: "/a'\"b") }
                == "\(path): it can have no path with both kinds of quotes, or with a control character")
        #expect(try text() == before)
    }

    @Test(arguments: [0o660, 0o606, 0o666] as [mode_t]) func othersMayNotWriteIt(mode: mode_t) throws {
        try add("work")
        #expect(unsafe chmod(path, mode) == 0)
        let expected = "\(path): users other than its owner can write to it: its mode is 0\(String(mode, radix: 8))"
        #expect(refusal { _ = try NamedVaults.load(folders) } == expected)
        #expect(refusal { try add("new") } == expected)
    }

    @Test func aFileThatIsWrong() throws {
        try add("work")
        try "[vaults.w]\nfolder = 1\n".write(toFile: path, atomically: false, encoding: .utf8)
        #expect(refusal { _ = try NamedVaults.load(folders) }?.hasPrefix("\(path), line 2: folder takes") == true)
        try Data(Array("\n# \n".utf8) + [0xff]).write(to: URL(filePath: path))
        #expect(refusal { _ = try NamedVaults.load(folders) } == "\(path), line 3: it is no text in UTF-8")
    }
}

import Foundation
import Glibc
import TestSupport
import Testing

@testable import Policy

/// Policy files: whose files count, and what happens if one cannot be read.
@Suite struct FileTests {
    private let temporary = try! TemporaryFolder()
    private var folder: String { temporary.path }
    private var path: String { folder + "/policy.toml" }

    private func write(_ bytes: some Sequence<UInt8>, to path: String? = nil, mode: mode_t = 0o644) throws {
        let path = path ?? self.path
        try Data(bytes).write(to: URL(filePath: path))
        #expect(unsafe chmod(path, mode) == 0)
    }

    private func refusal(isRequired: Bool = false) -> PolicyError? {
        do throws(PolicyError) { _ = try Policy.load(path: path, isRequired: isRequired) } catch { return error }
        return nil
    }

    @Test(arguments: [0o400, 0o600, 0o644, 0o444, 0o755] as [mode_t]) func isRead(mode: mode_t) throws {
        try write("\nerase-after = 5\n".utf8, mode: mode)
        let policy = try Policy.load(path: path)
        #expect(policy.path == path && policy.eraseAfter == Rule(5, line: 2))
    }

    @Test func absenceDemandsNothing() throws {
        #expect(try Policy.load(path: path) == Policy(path: path))
        #expect(try Policy.load(path: folder + "/none/policy.toml").isEmpty)
    }

    @Test func absenceOfANamedFile() {
        #expect(refusal(isRequired: true)?.description == "\(path): there is no such file")
    }

    @Test func aLinkThatLeadsNowhereIsNoAbsence() throws {
        #expect(unsafe symlink(folder + "/missing", path) == 0)
        #expect(refusal()?.problem == "it cannot be read: No such file or directory")
        try write("erase-after = 5".utf8, to: folder + "/missing")
        #expect(try Policy.load(path: path).eraseAfter?.value == 5)
    }

    @Test(arguments: [0o664, 0o646, 0o666, 0o620, 0o602, 0o777] as [mode_t]) func othersMayNotWrite(mode: mode_t) throws
    {
        try write("erase-after = 5".utf8, mode: mode)
        let expected = "users other than its owner can write to it: its mode is 0\(String(mode, radix: 8))"
        #expect(refusal()?.problem == expected)
    }

    @Test(.enabled(if: geteuid() == 0)) func othersMayNotOwnIt() throws {
        try write("erase-after = 5".utf8)
        #expect(unsafe chown(path, 4711, 0) == 0)
        #expect(refusal()?.problem == "it belongs to user 4711: it must be root's or your own")
        #expect(unsafe chown(path, 0, 4711) == 0)
        #expect(refusal() == nil)
    }

    @Test func whatIsNoFile() throws {
        #expect(unsafe mkdir(path, 0o755) == 0)
        #expect(refusal()?.problem == "it is no regular file")
        #expect(unsafe rmdir(path) == 0)
        #expect(unsafe mkfifo(path, 0o644) == 0)
        #expect(refusal()?.problem == "it is no regular file")
    }

    @Test func whatIsNoText() throws {
        try write(Array("# é\nerase-after = 5\n# ".utf8) + [0xe9, 0x0a])
        #expect(refusal()?.description == "\(path), line 3: it is no text in UTF-8")
    }

    @Test func whatIsTooLarge() throws {
        let line = Array("# sixteen bytes\n".utf8)
        try write((0..<4096).flatMap { _ in line })
        #expect(try Policy.load(path: path).isEmpty)
        try write((0..<4096).flatMap { _ in line } + [0x0a])
        #expect(refusal()?.problem == "it has more than 65536 bytes")
    }

    @Test func whatIsMalformed() throws {
        try write("# x\nerase-after = 5\nerase_after = 6\n".utf8)
        #expect(refusal()?.description == "\(path), line 3: there is no rule erase_after")
    }

    // MARK: - The escrow key's file

    private func policyWithKey() throws -> (Policy, file: String) {
        let file = folder + "/escrow.pem"
        try write("\n\nrequired-escrow-key = '\(file)'\n".utf8)
        return (try Policy.load(path: path), file)
    }

    private static let key = [UInt8](repeating: 7, count: 32)

    private func keyRefusal(_ policy: Policy, _ key: [UInt8]? = key) -> String? {
        do throws(PolicyError) { _ = try policy.readingEscrowKey { _ in key } } catch { return error.description }
        return nil
    }

    @Test func anEscrowKeyInAFile() throws {
        let (policy, file) = try policyWithKey()
        try write("PEM".utf8, to: file)
        var given: [UInt8]?
        let read = try policy.readingEscrowKey { text in
            given = text
            return Self.key
        }
        #expect(given == Array("PEM".utf8))
        #expect(read.requiredEscrowKey == Rule(.key(Self.key), line: 3))
        #expect(try read.readingEscrowKey { _ in nil } == read)
    }

    @Test func anEscrowKeyThatCannotBeTrusted() throws {
        let (policy, file) = try policyWithKey()
        let head = "\(path), line 3: the required-escrow-key \(file): "
        #expect(keyRefusal(policy) == head + "there is no such file")
        try write("PEM".utf8, to: file)
        #expect(keyRefusal(policy) == nil)
        #expect(keyRefusal(policy, nil) == head + "it is no X25519 public key in PEM")
        #expect(keyRefusal(policy, [1, 2]) == head + "it is no X25519 public key in PEM")
        #expect(unsafe chmod(file, 0o664) == 0)
        #expect(keyRefusal(policy) == head + "users other than its owner can write to it: its mode is 0664")
    }
}

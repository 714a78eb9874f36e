import Foundation
import TestSupport
import Testing

extension MountTests.DataProtection {
    /// The calls of one write, as strace(1) sees them.
    private func trace(_ it: ProtectedScene, _ options: [String] = [], contents: String) throws -> [String] {
        let log = it.mount.vault.folder.path("trace")
        let line = "write NSFileProtectionComplete \(it.path("file")) \(contents)\n"
        let outcome = try run(
            "strace",
            ["-f", "-e", "trace=openat,openat2,setxattr,fsetxattr,pwrite64,fsync,renameat2", "-o", log] + options
                + [Built.protected], input: Array(line.utf8), environment: it.mount.vault.environment)
        #expect(outcome.text == "ok\n", "\(outcome)")
        return String(decoding: try Disk.read(log), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The class before the first byte; the bytes durable before the rename, and the rename before the call returns.
    @Test func theClassComesBeforeTheFirstByteAndTheBytesBeforeTheName() throws {
        try withProtected { it in
            let calls = try trace(it, contents: "010203")
            let steps = [
                "O_CREAT|O_EXCL", "\"user.latchkey.class\", \"complete\"", "pwrite64(", "fsync(", "RENAME_NOREPLACE",
                "fsync(",
            ]
            var rest = calls[...]
            for step in steps {
                guard let index = rest.firstIndex(where: { $0.contains(step) && !$0.contains("= -1") }) else {
                    Issue.record("\(step) is missing or out of order in \(calls)")
                    return
                }
                rest = rest[(index + 1)...]
            }
            #expect(calls.filter { $0.contains("pwrite64(") }.count == 1)
            #expect(try it.scene.contents("file") == [1, 2, 3])
        }
    }

    /// On a network file system, for example: the file keeps the requested class, without RENAME_EXCHANGE.
    @Test(arguments: [ProtectionClass.complete, .none])
    func aStoreThatCannotExchangeNamesWillDo(_ old: ProtectionClass) throws {
        try withProtected { it in
            try it.scene.makeFile("file", class: old)
            let calls = try trace(it, ["-e", "inject=renameat2:error=EINVAL:when=2"], contents: "0909")
            #expect(calls.contains { $0.contains("RENAME_EXCHANGE") && $0.contains("INJECTED") }, "\(calls)")
            #expect(try it.scene.contents("file") == [9, 9])
            #expect(try it.scene.classOf("file") == .complete)
            #expect(try it.scene.isExplicit("file"))
            #expect(try it.names() == ["file"])
        }
    }
}

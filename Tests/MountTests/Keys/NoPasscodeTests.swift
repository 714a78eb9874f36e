import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A vault that the device key alone opens: every command warns of it, and a passcode makes it an ordinary vault.
    @Suite struct WithoutPasscode {
        private let unprotected = "not protected: encrypted with the device key alone"

        @Test func saysSoUntilItHasOne() throws {
            let vault = try Vault(hasPasscode: false)
            let point = try vault.folder.makeFolder("mount")
            let mounted = try vault.latchkey(["mount", "--grace", "0", vault.path, point]).succeeded().text
            defer { _ = try? vault.latchkey(["unmount", "--lazy", point]) }
            #expect(mounted.contains(unprotected))
            try shell("echo secret > a && setfattr -n user.latchkey.class -v complete a", in: point).succeeded()
            let status = try vault.latchkey(["status", point]).succeeded().text
            #expect(status.contains("unlocked") && status.contains(unprotected), "\(status)")
            #expect(try vault.latchkey(["status", "--json", point]).text.contains("\"hasPasscode\" : false"))
            #expect(try vault.latchkey(["explain", point + "/a"]).succeeded().text.contains(unprotected))
            #expect(try vault.latchkey(["slot", "list", point]).succeeded().text.contains("no-passcode"))
            // A lock removes the keys from memory, and an unlock needs no typing.
            try vault.latchkey(["lock", "--now", point]).succeeded()
            #expect(try attemptShell("cat a", in: point).status != 0)
            try vault.latchkey(["unlock", point]).succeeded()
            #expect(try shell("cat a", in: point).text == "secret\n")

            let inode = try shell("stat -c %Y.%s \(vault.path)/*", in: "/").text
            try vault.latchkey(["passwd", "--new-passcode-file", vault.passcodeFile, point]).succeeded()
            #expect(try vault.latchkey(["status", point]).succeeded().text.contains(unprotected) == false)
            #expect(try vault.latchkey(["explain", point + "/a"]).succeeded().text.contains(unprotected) == false)
            // Only the keybag has changed.
            let then = try shell("stat -c %Y.%s \(vault.path)/*", in: "/").text
            #expect(zip(inode.split(separator: "\n"), then.split(separator: "\n")).count { $0 != $1 } <= 1)
            try vault.latchkey(["lock", "--now", point]).succeeded()
            #expect(try vault.latchkey(["unlock", point], input: []).status != 0)
            try vault.latchkey(["unlock", "--passcode-file", vault.passcodeFile, point]).succeeded()
            #expect(try shell("cat a", in: point).text == "secret\n")
        }

        /// fsck and the slot commands ask for nothing. A passcode beside an open vault would protect nothing: `slot
        /// add` says so.
        @Test func commandsAskForNothing() throws {
            let vault = try Vault(hasPasscode: false)
            let checked = try vault.latchkey(["fsck", vault.path]).succeeded()
            #expect(checked.errors.isEmpty)
            try vault.latchkey(["slot", "test", vault.path]).succeeded()
            let added = try vault.latchkey([
                "slot", "add", "passcode", "--new-passcode-file", vault.passcodeFile, vault.path,
            ])
            #expect(added.status == 1 && added.errors.contains("latchkey passwd"), "\(added)")
            try vault.latchkey(["passwd", "--new-passcode-file", vault.passcodeFile, vault.path]).succeeded()
            #expect(try vault.latchkey(["slot", "test", vault.path], input: Array("x\n".utf8)).status == 3)
            try withMount(vault) { try shell("echo b > b", in: $0.path).succeeded() }
        }

        /// Options about a passcode are refused beside `--no-passcode`.
        @Test func usage() throws {
            let vault = try Vault()
            for options in [["--weak"], ["--erase-after", "10"], ["--passcode-file", vault.passcodeFile]] {
                let outcome = try vault.latchkey(["init", "--no-passcode"] + options + [vault.folder.path("other")])
                #expect(outcome.status == 2, "\(outcome)")
            }
        }
    }
}

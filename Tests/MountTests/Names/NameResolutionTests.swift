import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Which vault a word means, and that no command takes another one.
    @Suite struct NameResolution {
        @Test func everyCommandTakesTheName() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            let passcode = ["--passcode-file", scene.passcodeFile]
            let new = try scene.home.write("another horse battery staple", to: "new")
            func works(_ arguments: String...) throws { try scene.latchkey(arguments).succeeded() }
            try works("slot", "list", "work")
            try works("policy", "check", "work")
            try works("device-key", "show", "work")
            try works("device-key", "export", scene.home.path("key"), "work")
            try scene.latchkey(["fsck", "work"] + passcode).succeeded()
            try scene.latchkey(["slot", "test", "work"] + passcode).succeeded()
            try scene.latchkey(
                [
                    "keybag", "backup", scene.home.path("backup"), "work", "--passphrase-file", new, "--kdf-memory",
                    "19", "--kdf-passes", "2",
                ] + passcode
            ).succeeded()
            try scene.latchkey(["mount", "work", "--unlock"] + passcode).succeeded()
            try works("status", "work")
            try works("policy", "check", "work")
            try scene.latchkey(["passwd", "work", "--new-passcode-file", new] + passcode).succeeded()
            try works(
                "rotate", "work", "--passcode-file", new, "--recovery-key-file", scene.home.path("again"), "--wait")
            try works("lock", "work", "--now", "--wait")
            try works("unlock", "work", "--passcode-file", new)
            #expect(try scene.latchkey("fsck", "work").status == 1)
            try scene.end("unmount", "work")
            try works("erase", "--yes", "work")
            try works(
                "keybag", "restore", scene.home.path("backup"), "work", "--passphrase-file", new, "--new-passcode-file",
                new, "--kdf-memory", "19", "--kdf-passes", "2")
            try works("open", "work", "--passcode-file", new)
            try scene.end("close", "work")
        }

        @Test func theDeviceKeyOfTheConfiguration() throws {
            let scene = try NamedScene()
            try scene.configure("[vaults.work]\nfolder = '~/v'\ndevice-key = '~/elsewhere.key'\n")
            try scene.makeVault("work")
            #expect(Disk.exists(scene.home.path("elsewhere.key")))
            let shown = try scene.latchkey("device-key", "show", "work").succeeded()
            #expect(shown.text.contains("elsewhere.key"))
            #expect(try scene.latchkey("device-key", "show", "./v").status == 1)
            try scene.latchkey("slot", "test", "work", "--passcode-file", scene.passcodeFile).succeeded()
            try scene.latchkey("fsck", "work", "--passcode-file", scene.passcodeFile).succeeded()
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            try scene.end("close", "work")
            try scene.latchkey("erase", "--yes", "work").succeeded()
            #expect(!Disk.exists(scene.home.path("elsewhere.key")))
            // One that is named when the vault is made goes into its table.
            try scene.makeVault("typed", "--device-key", "typed.key")
            #expect(Disk.exists(scene.home.path("typed.key")))
            #expect(
                try String(contentsOfFile: scene.configuration, encoding: .utf8).contains(
                    "device-key = \"~/typed.key\"\n"))
            try scene.latchkey("open", "typed", "--passcode-file", scene.passcodeFile).succeeded()
            try scene.end("close", "typed")
        }

        @Test func aFolderOfTheSameName() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            let folder = try scene.home.makeFolder("desk")
            let other = folder + "/work"
            unsafe mkdir(other, 0o755)
            // A plain folder is not meant, but nothing is destroyed where it might be.
            try scene.latchkey("slot", "list", "work", in: folder).succeeded()
            for command in [["erase", "--yes", "work"], ["fsck", "--repair", "work"]] {
                let refused = try scene.latchkey(command, in: folder)
                #expect(refused.status == 2 && refused.errors.contains("the same with ./work"), "\(refused)")
                #expect(refused.errors.contains(other) && refused.errors.contains("latchkey/vaults/work"))
            }
            #expect(try scene.state("work") == "not-mounted")
            // A vault of the same name may be meant.
            _ = unsafe unlink(scene.recoveryKeyFile)
            try scene.latchkey(
                "init", "./work", "--kdf-memory", "19", "--kdf-passes", "2", "--passcode-file", scene.passcodeFile,
                "--recovery-key-file", scene.recoveryKeyFile, in: folder
            ).succeeded()
            for command in [["slot", "list", "work"], ["mount", "work"], ["open", "work"], ["status", "work"]] {
                let refused = try scene.latchkey(command, in: folder)
                #expect(refused.status == 2 && refused.errors.contains("nothing was done"), "\(refused)")
            }
            #expect(try scene.latchkey("slot", "list", "./work", in: folder).succeeded().text.contains("passcode"))
            try scene.latchkey("erase", "--yes", "./work", in: folder).succeeded()
            #expect(try scene.state("work") == "not-mounted")
            // Its own mount point and its own folder are no other folder.
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile, in: scene.home.path).succeeded()
            unsafe mkdir(scene.home.path("work/work"), 0o755)
            try scene.latchkey("lock", "--now", "work", in: scene.home.path("work")).succeeded()
            try scene.end("close", "work", in: scene.home.path(".local/share/latchkey/vaults"))
            try scene.latchkey("erase", "--yes", "work", in: scene.home.path(".local/share/latchkey/vaults"))
                .succeeded()
        }

        @Test func anotherVaultOnTheMountPoint() throws {
            let scene = try NamedScene()
            try scene.makeVault("work", "--mount", scene.home.path("work"))
            try scene.makeVault("other")
            try scene.latchkey("mount", "other", scene.home.path("work")).succeeded()
            // The word may mean the folder, which shows the other vault.
            for command in [["erase", "--yes", "work"], ["lock", "--now", "work"], ["close", "work"]] {
                let refused = try scene.latchkey(command)
                #expect(refused.status == 2 && refused.errors.contains("nothing was done"), "\(refused)")
            }
            let elsewhere = try scene.home.makeFolder("elsewhere")
            #expect(try scene.latchkey("lock", "--now", "work", in: elsewhere).status == 5)
            #expect(try scene.state("work") == "not-mounted" && scene.state("other") == "before-first-unlock")
            try scene.end("close", "other")
            // In its own mount, a folder of its name is not the vault.
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            unsafe mkdir(scene.home.path("work/work"), 0o755)
            let inside = try scene.latchkey("erase", "--yes", "work", in: scene.home.path("work"))
            #expect(inside.status == 2, "\(inside)")
            try scene.latchkey("lock", "--now", "work", in: scene.home.path("work")).succeeded()
            try scene.end("close", "work")
        }

        @Test func aConfigurationThatIsWrong() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            try scene.configure("[vaults.work]\nfolder = \n")
            let refused = try scene.latchkey("close", "work", in: scene.home.makeFolder("empty"))
            #expect(refused.status == 1 && refused.errors.contains("config.toml, line 2:"), "\(refused)")
            #expect(try scene.latchkey("erase", "--yes", "work").status == 1)
            // A mount in the working folder can be locked all the same.
            try scene.latchkey("lock", "--now", "--wait", "work").succeeded()
            let listed = try scene.latchkey("list", "--json")
            #expect(listed.status == 1 && listed.text.contains(scene.home.path("work")), "\(listed)")
            try scene.end("close", "./work")
            #expect(unsafe chmod(scene.configuration, 0o666) == 0)
            #expect(try scene.latchkey("list").errors.contains("users other than its owner can write to it"))
        }

        @Test func noName() throws {
            let scene = try NamedScene()
            let vault = try Vault()
            let missing = try scene.latchkey("mount", vault.path)
            #expect(missing.status == 2 && missing.errors.contains("there is no DIR to mount it on"), "\(missing)")
            #expect(try scene.latchkey("open", vault.path).status == 5)
            #expect(try scene.latchkey("list").succeeded().errors.isEmpty)
        }
    }
}

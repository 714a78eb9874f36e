import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `latchkey init --name`, and what it refuses before it makes anything.
    @Suite struct InitName {
        private func refused(_ scene: NamedScene, _ options: String...) throws -> Outcome {
            let outcome = try scene.latchkey(
                ["init", "--passcode-file", scene.passcodeFile, "--recovery-key-file", scene.home.path("none")]
                    + options)
            #expect(outcome.status != 0 && !Disk.exists(scene.home.path("none")), "\(outcome)")
            return outcome
        }

        @Test func theTableIsAppended() throws {
            let scene = try NamedScene()
            try scene.configure("# my vaults\n")
            try scene.makeVault("work", scene.home.path("Vaults"))
            #expect(
                try String(contentsOfFile: scene.configuration, encoding: .utf8) == """
                    # my vaults

                    [vaults.work]
                    folder = "~/Vaults"
                    mount = "~/work"
                    guard-mount-point = true

                    """)
            let check = try scene.latchkey("config", "check").succeeded().text
            #expect(check.contains("line 3  work: a vault, mounted on \(scene.home.path("work"))."), "\(check)")
        }

        @Test func aTableThatIsThereIsUsed() throws {
            let scene = try NamedScene()
            let table = "[vaults.work]\nfolder = '~/a/b'\nmount = '~/m'\ndefault-class = 'complete'\n"
            try scene.configure(table)
            let key = try refused(scene, "--name", "work", "--device-key", scene.home.path("key"))
            #expect(key.status == 2 && key.errors.contains("has no such device key"), "\(key)")
            try scene.makeVault("work")
            #expect(try String(contentsOfFile: scene.configuration, encoding: .utf8) == table)
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            let file = try scene.home.write("x", to: "m/file")
            #expect(try scene.latchkey("class", "get", file).succeeded().text.contains("complete"))
            try scene.end("close", "work")
        }

        @Test func whatIsTaken() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            #expect(try refused(scene, "--name", "work").errors.contains("the name work is taken"))
            #expect(
                try refused(scene, "--name", "work", scene.home.path("x")).errors.contains("the name work is taken"))
            let vault = scene.home.path(".local/share/latchkey/vaults/work")
            #expect(try refused(scene, "--name", "other", vault).errors.contains("is that of the vault work already"))
            #expect(try refused(scene, "--name", "-x").status == 2)
            #expect(try refused(scene, "--name", "a/b").status == 2)
            #expect(try refused(scene).status == 2)
            #expect(try refused(scene, "--mount", "/m", scene.home.path("x")).status == 2)
            // The files would appear in the vault's own folder.
            #expect(try refused(scene, "--name", "v", scene.home.path("v")).errors.contains("lie in each other"))
            // Something is in the mount point.
            _ = try scene.home.makeFolder("full")
            _ = try scene.home.write("x", to: "full/file")
            let full = try refused(scene, "--name", "full")
            #expect(full.errors.contains("is not an empty folder; nothing was made"), "\(full)")
            try scene.makeVault("full", "--mount", scene.home.path("empty"))
            #expect(try scene.listed("full")["mountPoint"] == scene.home.path("empty"))
        }

        @Test func aConfigurationThatIsWrongIsNotTouched() throws {
            let scene = try NamedScene()
            try scene.configure("[vaults.work]\nfolder = 1\n")
            let outcome = try refused(scene, "--name", "new")
            #expect(outcome.errors.contains("\(scene.configuration), line 2: folder takes a path"), "\(outcome)")
            let check = try scene.latchkey("config", "check")
            #expect(check.status == 1 && check.errors.contains("line 2: folder takes a path"))
            let json = try scene.latchkey("config", "check", "--json")
            #expect(json.status == 1 && json.text.contains("\"line\" : 2"), "\(json)")
            try scene.configure("[vaults.work]\nfolder = '/v'\noptions = ['nothing']\n")
            let options = try scene.latchkey("config", "check")
            #expect(options.status == 1 && options.errors.contains("line 3: -o nothing: no such option"), "\(options)")
        }
    }
}

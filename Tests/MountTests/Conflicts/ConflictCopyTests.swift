import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// What synchronisation programs make of two versions of a file: both are there, under names that a person reads.
    @Suite struct ConflictCopies {
        private static let tail = ".sync-conflict-20261124-101112-ABCDEFG"
        private static let shown = "report (conflict of 2026-11-24 on ABCDEFG).odt"

        /// Two versions of a file, the older one under the name that a program gives it.
        private func conflict(
            in vault: Vault, name: String = "report.odt", tail: String = Self.tail, _ folder: String = ""
        ) throws {
            var backing = ""
            try withMount(vault) { mount in
                if !folder.isEmpty { try shell("mkdir -p '\(mount.path)/\(folder)'") }
                try shell("printf 'of the laptop' > '\(mount.path)/\(folder)/\(name)'")
                backing = try mount.backingPath(folder.isEmpty ? name : folder + "/" + name)
            }
            try shell("cp -a '\(backing)' '\(vault.path)/../aside'")
            try withMount(vault) { mount in
                try shell("printf 'of this machine, later' > '\(mount.path)/\(folder)/\(name)'")
            }
            try run("mv", [vault.path + "/../aside", backing + tail])
        }

        @Test func bothVersionsAreThere() throws {
            let vault = try Vault()
            try conflict(in: vault)
            try withMount(vault) { mount in
                try expect(mount, [Self.shown, "report.odt"])
                #expect(try Disk.read(mount.path + "/report.odt") == Array("of this machine, later".utf8))
                #expect(try Disk.read(mount.path + "/" + Self.shown) == Array("of the laptop".utf8))
                // It is a file like any other.
                try shell("echo more >> '\(Self.shown)'; mv '\(Self.shown)' b", in: mount.path)
                #expect(try Disk.read(mount.path + "/b") == Array("of the laptopmore\n".utf8))
            }
            try withMount(vault) { mount in try expect(mount, ["b", "report.odt"]) }
            try fsckIsClean(vault)
        }

        /// Other programs than Syncthing, in a folder, with a long name, and several versions of one file.
        @Test(arguments: [
            (" (laptop-2's conflicted copy 2026-11-24)", "x (conflict of 2026-11-24 on laptop-2).txt"),
            (" (conflicted copy 2026-11-24 101112)", "x (conflict of 2026-11-24).txt"),
            ("_conflict-20261124-101112", "x (conflict of 2026-11-24).txt"), ("~", "x (conflict).txt"),
            ("-LAPTOP", "x (conflict).txt"),
        ])
        func programs(tail: String, shown: String) throws {
            let vault = try Vault()
            try conflict(in: vault, name: "x.txt", tail: tail, "a folder")
            try withMount(vault) { mount in
                try expect(mount, [shown, "x.txt"], in: "a folder")
            }
            try fsckIsClean(vault)
        }

        @Test func longNames() throws {
            let vault = try Vault()
            let name = String(repeating: "n", count: 230) + ".odt"
            try conflict(in: vault, name: name)
            try withMount(vault) { mount in
                let names = try self.names(in: mount)
                #expect(
                    names.count == 2 && names.allSatisfy { $0.utf8.count <= 255 && $0.hasSuffix(".odt") }, "\(names)")
                #expect(names.contains { $0.hasSuffix(" (conflict of 2026-11-24 on ABCDEFG).odt") })
            }
            try fsckIsClean(vault)
        }

        @Test func severalOfOneDay() throws {
            let vault = try Vault()
            try conflict(in: vault)
            try withMount(vault) { _ in }
            // The second one has the same words but for the time.
            try conflict(in: vault, tail: ".sync-conflict-20261124-222222-ABCDEFG")
            try withMount(vault) { mount in
                try expect(
                    mount, ["report (conflict of 2026-11-24 22.22.22 on ABCDEFG).odt", Self.shown, "report.odt"])
            }
        }

        /// It is one of the same file, and the list has it also where a program has not brought its attribute.
        @Test func aVersionOfAVersion() throws {
            let vault = try Vault()
            let first = "report (conflict of 2026-11-20 on OTHER).odt"
            try conflict(in: vault, name: first)
            try withMount(vault) { mount in
                try expect(mount, [first, Self.shown])
                let list = try vault.latchkey(["conflicts", "list", "--json", mount.path]).succeeded().text
                #expect(list.ranges(of: "\"of\" : \"\(mount.path)/report.odt\"").count == 2, "\(list)")
                try vault.latchkey(["conflicts", "take", "--yes", mount.path + "/" + first]).succeeded()
                try expect(mount, [Self.shown, "report.odt"])
                #expect(try Disk.read(mount.path + "/report.odt") == Array("of this machine, later".utf8))
            }
        }

        /// A version with the same contents is none: two machines may have taken in the same one.
        @Test func theSameContents() throws {
            let vault = try Vault()
            var backing = ""
            try withMount(vault) { mount in
                try shell("head -c 600000 /dev/urandom > '\(mount.path)/file'")
                backing = try mount.backingPath("file")
            }
            try shell("cp -a '\(backing)' '\(backing)\(Self.tail)'")
            try withMount(vault) { mount in
                try expect(mount, ["file"])
                #expect(!Disk.exists(backing + Self.tail))
            }
        }

        /// What has not arrived whole, or is another file's, stays as it is, and harms nothing.
        @Test(arguments: ["head -c 100 \"$1\" > \"$1$2\"", "echo x > \"$1$2\"", "mkdir \"$1$2\"", "cp \"$3\" \"$1$2\""])
        func noVersions(script: String) throws {
            let vault = try Vault()
            var (backing, other) = ("", "")
            try withMount(vault) { mount in
                try shell("echo one > one; echo other > other", in: mount.path)
                (backing, other) = (try mount.backingPath("one"), try mount.backingPath("other"))
            }
            _ = try attempt("bash", ["-euc", script, "bash", backing, Self.tail, other])
            try withMount(vault) { mount in
                try expect(mount, ["one", "other"])
                #expect(try Disk.read(mount.path + "/one") == Array("one\n".utf8))
            }
            #expect(Disk.exists(backing + Self.tail))
        }

        /// It appears while the mount is used, and while it is locked.
        @Test(arguments: [false, true]) func whileMounted(isLocked: Bool) throws {
            let vault = try Vault()
            try conflict(in: vault, tail: "-hidden")
            let backing = try shell("ls -d \"$PWD\"/*-hidden", in: vault.path).text.dropLast()
            try shell("mv '\(backing)' '\(vault.path)/../aside'")
            try withMount(vault, grace: 0) { mount in
                try expect(mount, ["report.odt"])
                if isLocked { try mount.lockNow() }
                try shell("mv '\(vault.path)/../aside' '\(backing.dropLast(7))\(Self.tail)'")
                try until("the version is there") { try names(in: mount).contains(Self.shown) }
                if isLocked { try mount.unlock() }
                #expect(try Disk.read(mount.path + "/" + Self.shown) == Array("of the laptop".utf8))
            }
        }

        // MARK: The command

        @Test func listTakeAndDrop() throws {
            let vault = try Vault()
            try conflict(in: vault)
            try conflict(in: vault, name: "b", tail: "~", "folder")
            try withMount(vault) { mount in
                let listed = try vault.latchkey(["conflicts", "list", "--json", mount.path]).succeeded()
                let found = try #require(JSONSerialization.jsonObject(with: Data(listed.output)) as? [[String: Any]])
                #expect(
                    Set(found.compactMap { $0["of"] as? String })
                        == [mount.path + "/report.odt", mount.path + "/folder/b"])
                let text = try vault.latchkey(["conflicts", "list", mount.path]).succeeded().text
                #expect(text.contains(Self.shown) && text.contains("a version of \(mount.path)/folder/b"), "\(text)")
                let refused = try vault.latchkey(["conflicts", "take", mount.path + "/" + Self.shown])
                #expect(refused.status == 2 && refused.errors.contains("--yes"), "\(refused)")
                #expect(try vault.latchkey(["conflicts", "drop", "--yes", mount.path + "/report.odt"]).status == 5)
                try vault.latchkey(["conflicts", "take", "--yes", mount.path + "/" + Self.shown]).succeeded()
                #expect(try Disk.read(mount.path + "/report.odt") == Array("of the laptop".utf8))
                try vault.latchkey(["conflicts", "drop", "--yes", mount.path + "/folder/b (conflict)"]).succeeded()
                #expect(try shell("ls -A folder; ls -A", in: mount.path).text == "b\nfolder\nreport.odt\n")
                #expect(try vault.latchkey(["conflicts", "list"]).succeeded().text == "No version is put aside.\n")
            }
            try fsckIsClean(vault)
        }

        private func expect(
            _ mount: MountedVault, _ names: [String], in folder: String = ".",
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let found = try FileManager.default.contentsOfDirectory(atPath: mount.path + "/" + folder).sorted()
            #expect(found == names.sorted(), sourceLocation: sourceLocation)
        }

        private func names(in mount: MountedVault) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: mount.path).sorted()
        }

        private func fsckIsClean(_ vault: Vault) throws {
            let found = try vault.latchkey(["fsck", vault.path, "--passcode-file", vault.passcodeFile])
            #expect(found.status == 0, "\(found)")
        }
    }
}

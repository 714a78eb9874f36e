import Foundation
import TestSupport
import Testing

/// The JSON of `latchkey fsck --json`, as docs/FSCK.md has it.
struct FsckResult: Decodable {
    struct Finding: Decodable {
        struct Range: Decodable, Equatable {
            var offset: Int
            var length: Int
        }

        var severity: String
        var kind: String
        var path: String?
        var backingPath: String
        var reason: String
        var lost: [Range]?
        var lostBytes: Int?
        var repaired: Bool?
        var repair: String?
    }

    var vault: String
    var volume: String?
    var findings: [Finding]
    var clean: Bool
    var complete: Bool
    var contentsClasses: [String]
    var damaged: Int
    var leftovers: Int
    var notes: Int
    var repaired: Int
    var files: Int
    var folders: Int
    var bytesRead: Int
    var filesNotRead: Int
    var seconds: Double
}

extension Vault {
    /// The report of a check that must end with this exit code.
    func fsck(
        _ options: String..., unlocked: Bool = true, expecting status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> FsckResult {
        let passcode = unlocked ? ["--passcode-file", passcodeFile] : []
        let outcome = try latchkey(["fsck", "--json", path] + options + passcode)
        #expect(outcome.status == status, "\(outcome)", sourceLocation: sourceLocation)
        return try JSONDecoder().decode(FsckResult.self, from: Data(outcome.output))
    }
}

extension MountTests {
    /// The command: its output and its exit codes.
    @Suite struct FsckTests {
        @Test func aSoundVault() throws {
            let scene = try AttackScene()
            let all = try scene.vault.fsck()
            #expect(all.findings.isEmpty && all.clean && all.complete)
            #expect(all.contentsClasses == ["A", "B", "C", "D"])
            #expect((all.files, all.folders, all.filesNotRead) == (6, 3, 0))
            #expect(all.bytesRead > 100_000)
            let structure = try scene.vault.fsck(unlocked: false)
            #expect(structure.clean && structure.contentsClasses == ["D"])
            #expect(structure.filesNotRead == 5, "one file is of class D")
            let text = try scene.vault.latchkey(["fsck", scene.vault.path]).succeeded().text
            #expect(text.contains("nothing wrong; 6 files and 3 folders"))
            #expect(text.contains("  try: latchkey fsck --unlock"))
        }

        @Test func damage() throws {
            let scene = try AttackScene()
            try scene.file("first").edit { $0[512 + 4128 + 100] ^= 1 }
            try scene.file("other/inner").edit { $0[70] ^= 1 }
            try Disk.write([], to: scene.vault.path + "/lk.tmp.x")
            try Disk.write([], to: scene.vault.path + "/a friend's")
            let structure = try scene.vault.fsck(unlocked: false, expecting: 6)
            #expect(Set(structure.findings.map(\.kind)) == ["header", "temporary", "foreign"])
            let all = try scene.vault.fsck(expecting: 6)
            #expect((all.damaged, all.leftovers, all.notes) == (2, 1, 1))
            let contents = try #require(all.findings.first { $0.kind == "contents" })
            #expect(contents.path == "/first")
            #expect(scene.vault.path + "/" + contents.backingPath == scene.file("first").path)
            #expect(contents.lost == [.init(offset: 4096, length: 4096)])
            #expect(contents.lostBytes == 4096)
            let text = try scene.vault.latchkey(["fsck", scene.vault.path, "--passcode-file", scene.vault.passcodeFile])
            #expect(text.status == 6)
            #expect(text.text.contains("damage: /first: 4096 of 20000 bytes are lost"))
            #expect(text.text.contains("  lost bytes: 4096-8191"))
            #expect(text.text.contains("damage: /other/inner: the header was changed"))
        }

        /// The FIFO has no writer: an open that waited for one would wait for ever.
        @Test func aPipeInTheLocksPlace() throws {
            let scene = try AttackScene()
            try shell("cd '\(scene.vault.path)'; rm lk.lock; mkfifo lk.lock").succeeded()
            try scene.vault.latchkey(["fsck", scene.vault.path]).succeeded()
        }

        @Test(arguments: [
            (0, "its first bytes are not those of the format"), (10, "its header size is not what the format allows"),
        ])
        func whatIsWrongWithAHeader(_ byte: Int, _ said: String) throws {
            let scene = try AttackScene()
            try scene.file("first").edit { $0[byte] ^= 1 }
            let text = try scene.vault.latchkey(["fsck", scene.vault.path])
            #expect(text.text.contains("damage: /first: the header: \(said)\n"), "\(text)")
        }

        @Test func aKeybagThatIsDamaged() throws {
            let scene = try AttackScene()
            let whole = try Disk.read(scene.vault.keybag)
            try Disk.edit(scene.vault.keybag) { $0[60] ^= 1 }
            let result = try scene.vault.fsck(expecting: 6)
            #expect(result.findings.map(\.kind) == ["keybag"])
            #expect(!result.complete)
            let text = try scene.vault.latchkey(["fsck", scene.vault.path])
            #expect(text.status == 6)
            #expect(text.errors.contains("try: cp BACKUP/lk.keybag"))
            // The previous keybag verifies, and stays where it is.
            try Disk.write(whole, to: scene.vault.keybag + ".old")
            let previous = try scene.vault.fsck(expecting: 6)
            #expect(previous.findings.map(\.kind) == ["keybag"], "the one that stands in is no orphan")
            #expect(previous.complete && previous.files == 6)
            #expect(try Disk.read(scene.vault.keybag) != whole)
        }

        /// A vault without its keybag is reported as damaged: no message suggests making a new vault over it.
        @Test func aKeybagThatIsMissing() throws {
            let scene = try AttackScene()
            unsafe unlink(scene.vault.keybag)
            #expect(try scene.vault.fsck(expecting: 6).findings.map(\.kind) == ["keybag"])
            let text = try scene.vault.latchkey(["fsck", scene.vault.path])
            #expect(text.status == 6)
            #expect(text.errors.contains("lk.keybag is missing\n  try: cp BACKUP/lk.keybag"))
        }

        /// The path on the command line is not the vault, but belongs to one.
        @Test func besideTheVault() throws {
            let scene = try AttackScene()
            let folder = try scene.vault.latchkey(["fsck", scene.backing["folder"]!])
            #expect(folder.status == 5)
            #expect(folder.errors.contains("try: latchkey fsck \(scene.vault.path)\n"))
            try withMount(scene.vault) { mount in
                let outcome = try scene.vault.latchkey(["fsck", mount.path])
                #expect(outcome.status == 5)
                #expect(outcome.errors.contains("try: latchkey unmount \(mount.path)\n"))
            }
        }

        /// A wrong passcode changes nothing, not even orphans that an opening for writing would remove.
        @Test func aWrongPasscodeComesBeforeARepair() throws {
            let scene = try AttackScene()
            let wrong = try scene.vault.folder.write("wrong", to: "wrong")
            let old = scene.vault.keybag + ".old"
            try Disk.write(try Disk.read(scene.vault.keybag), to: old)
            let outcome = try scene.vault.latchkey(["fsck", "--repair", scene.vault.path, "--passcode-file", wrong])
            #expect(outcome.status == 3)
            #expect(try Disk.read(old) == Disk.read(scene.vault.keybag))
            #expect(try scene.vault.fsck("--repair").clean)
            #expect(!Disk.tree(scene.vault.path).contains("lk.keybag.old"))
        }

        @Test func whatStopsIt() throws {
            let vault = try Vault()
            let wrong = try vault.folder.write("wrong", to: "wrong")
            #expect(try vault.latchkey(["fsck", vault.path, "--passcode-file", wrong]).status == 3)
            #expect(try vault.latchkey(["fsck", vault.folder.path]).status == 5)
            #expect(try vault.latchkey(["fsck"]).status == 2)
            #expect(try vault.latchkey(["fsck", vault.path, "--device-key", "/nonexistent"]).status == 1)
            #expect(
                try vault.latchkey(["fsck", vault.path, "--recovery", "--recovery-key-file", vault.recoveryKeyFile])
                    .status == 0)
            try withMount(vault) { mount in
                let outcome = try vault.latchkey(["fsck", vault.path])
                #expect(outcome.status == 1)
                #expect(outcome.errors.contains("try: latchkey unmount \(mount.path)"))
            }
        }

        /// fsck changes no byte and no time, and creates no file in the vault.
        @Test func nothingIsChanged() throws {
            let scene = try AttackScene()
            try scene.file("first").edit { $0[0] ^= 1 }
            try Disk.write([], to: scene.vault.path + "/lk.tmp.x")
            unsafe unlink(scene.vault.path + "/lk.lock")
            let list = "find . -printf '%p %s %m %T@ %C@\\n' | sort"
            let before = try shell(list, in: scene.vault.path).succeeded().text
            _ = try scene.vault.fsck(expecting: 6)
            #expect(try shell(list, in: scene.vault.path).succeeded().text == before)
        }
    }
}

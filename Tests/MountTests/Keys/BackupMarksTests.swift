import Foundation
import TestSupport
import Testing

extension MountTests {
    /// `latchkey keybag backup --with-marks`: another machine notices older files, too.
    @Suite struct BackupsWithMarks {
        private let scene: FreshnessScene
        private let before: String
        private let phrase: String
        private let new: String
        private let backup: String
        private var vault: Vault { scene.vault }
        private static let cost = ["--kdf-memory", "19", "--kdf-passes", "2"]

        init() throws {
            (scene, before) = try FreshnessScene.changedTwice()
            phrase = try scene.vault.folder.write("four words and more", to: "passphrase")
            new = try scene.vault.folder.write("the new passcode", to: "new")
            backup = scene.vault.folder.path("keybag.backup")
        }

        private func makeBackup(_ file: String, of place: String, _ options: [String] = ["--with-marks"]) throws
            -> Outcome
        {
            try vault.latchkey(
                ["keybag", "backup", "--passcode-file", vault.passcodeFile, "--passphrase-file", phrase] + options
                    + Self.cost + [file, place])
        }

        private func restore(_ file: String, to path: String, _ options: [String] = ["--with-marks"]) throws -> Outcome
        {
            try vault.latchkey(
                ["keybag", "restore", "--passphrase-file", phrase, "--new-passcode-file", new] + options + Self.cost
                    + [file, path])
        }

        private func older(with passcode: String) throws -> Int {
            let options = ["--unlock", "--passcode-file", passcode]
            return try withMount(vault, unlocked: false, options: options) { try scene.look(at: $0).older }
        }

        /// The state folder is lost, as with the machine. With the marks an older file is noticed, without them it is
        /// not.
        @Test(arguments: [false, true]) func aNewMachine(isMounted: Bool) throws {
            let mount = isMounted ? try MountedVault(vault) : nil
            let text = try makeBackup(backup, of: mount?.path ?? vault.path).succeeded().text
            #expect(text.contains("\(backup).marks. Keep both away"), "\(text)")
            try mount?.unmount()
            for file in [backup, backup + ".marks"] {
                let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
            try scene.putBack(.file, from: before)
            let state = URL(filePath: try vault.deviceKeyFile()).deletingLastPathComponent()
            for isTold in [false, true] {
                try FileManager.default.removeItem(at: state)
                try restore(backup, to: vault.path, isTold ? ["--with-marks"] : []).succeeded()
                #expect(try older(with: new) == (isTold ? 1 : 0))
            }
            // In the machine's own file, with its own key.
            #expect(try older(with: new) == 1)
        }

        /// What the machine remembers is newer than the backup, and stays so.
        @Test func theNewerCounts() throws {
            try makeBackup(backup, of: vault.path).succeeded()
            let between = try scene.copy()
            try scene.change(3)
            try scene.endChanges()
            try scene.putBack(.file, from: between)
            // No mount sees the file of the third change again.
            try restore(backup, to: vault.path).succeeded()
            #expect(try older(with: new) == 1)
        }

        /// Nothing is written if there are no marks, or one of the two files is there already.
        @Test func whatABackupRefuses() throws {
            let other = try Vault()
            let nothing = try vault.latchkey(
                ["keybag", "backup", "--with-marks", "--passcode-file", other.passcodeFile, backup, other.path])
            #expect(nothing.status == 1 && !Disk.exists(backup), "\(nothing)")
            try Disk.write([7], to: backup + ".marks")
            let there = try makeBackup(backup, of: vault.path)
            #expect(there.status == 1 && there.errors.contains("exists already"), "\(there)")
            #expect(try !Disk.exists(backup) && Disk.read(backup + ".marks") == [7])
        }

        /// Marks that are damaged, missing, or of other keys are refused before anything is changed.
        @Test func whatARestoreRefuses() throws {
            let (late, marks) = (vault.folder.path("late.backup"), backup + ".marks")
            try makeBackup(backup, of: vault.path).succeeded()
            try withMount(vault) { mount in
                let words = ["rotate", "--yes", "--wait", "--passcode-file", vault.passcodeFile]
                try mount.latchkey(
                    words + ["--recovery-key-file", vault.folder.path("new-recovery"), mount.path]
                ).succeeded()
                try shell("cat file", in: mount.path)
            }
            try makeBackup(late, of: vault.path).succeeded()
            let tree = Disk.tree(vault.path)
            let own = try vault.deviceKeyFile() + ".marks"
            let remembered = try Disk.read(own)
            func expectRefused(_ file: String, _ words: String) throws {
                let outcome = try restore(file, to: vault.path)
                #expect(outcome.status != 0 && outcome.errors.contains(words), "\(outcome)")
                #expect(try Disk.tree(vault.path) == tree && Disk.read(own) == remembered)
            }
            // The whole backup of before the rotation, and its marks alone.
            try expectRefused(backup, "keys")
            let whole = try Disk.read(late + ".marks")
            try Disk.write(Disk.read(marks), to: late + ".marks")
            try expectRefused(late, "written with a backup that has other keys")
            for bad in [Array(whole.dropLast()), whole + [0], whole.map { $0 ^ 1 }] {
                try Disk.write(bad, to: late + ".marks")
                try expectRefused(late, "is damaged")
            }
            try FileManager.default.removeItem(atPath: late + ".marks")
            try expectRefused(late, "read the marks in")
            try Disk.write(whole, to: late + ".marks")
            try restore(late, to: vault.path).succeeded()
        }

        /// A mount of a copy works with the same file of marks.
        @Test func aMountHasTheMarks() throws {
            try makeBackup(backup, of: vault.path).succeeded()
            let copy = try scene.copy()
            let tree = Disk.tree(copy)
            try withMount(vault) { _ in
                let outcome = try restore(backup, to: copy)
                #expect(outcome.status == 1 && outcome.errors.contains("nothing was changed"), "\(outcome)")
                #expect(Disk.tree(copy) == tree)
            }
            try restore(backup, to: copy).succeeded()
        }
    }
}

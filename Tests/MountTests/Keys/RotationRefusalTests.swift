import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// What `latchkey rotate` refuses, and what it cannot do yet.
    @Suite struct RotationRefusals {
        @Test func changesNothing() throws {
            let scene = try RotationScene(5)
            let second = try scene.vault.folder.write("another passcode", to: "second")
            let wrong = try scene.vault.folder.write("wrong", to: "wrong")
            try withMount(scene.vault) { mount in
                try mount.latchkey(
                    "slot", "add", "passcode", "--passcode-file", scene.vault.passcodeFile, "--new-passcode-file",
                    second, "--name", "Ann", mount.path
                ).succeeded()
                let keybag = try Disk.read(scene.vault.keybag)
                #expect(try scene.rotate(mount, passcode: wrong).status == 3)
                let asked = try scene.rotate(mount)
                #expect(asked.status == 2 && asked.errors.contains("Ann") && asked.errors.contains("--yes"), "\(asked)")
                #expect(!Disk.exists(scene.recoveryKey))
                #expect(try Disk.read(scene.vault.keybag) == keybag)
                #expect(try scene.progress(mount) == nil)

                try scene.rotate(mount, ["--yes", "--wait"]).succeeded()
                let slots = try mount.latchkey("slot", "list", mount.path).succeeded().text
                #expect(!slots.contains("Ann") && slots.contains("recovery-key"), "\(slots)")
                let gone = try mount.latchkey("slot", "test", "--passcode-file", second, mount.path)
                #expect(gone.status == 3)
                #expect(try scene.wrong(mount, count: 5) == "")
            }
        }

        @Test func readOnly() throws {
            let scene = try RotationScene(5)
            try withMount(scene.vault, options: ["-o", "ro"]) { mount in
                let refused = try scene.rotate(mount)
                #expect(refused.status == 1 && refused.errors.contains("read-only"), "\(refused)")
            }
        }

        /// A disk without any room: the rotation goes on or waits, all files are readable, and once there is room it
        /// ends.
        @Test func fullDisk() throws {
            guard LoopDisk.isAvailable else {
                Issue.record("NOT TESTED: a small disk takes root and loop devices")
                return
            }
            let disk = try LoopDisk(size: "64M", options: ["-N", "2000", "-m", "0"])
            try rotateOnFullDisk(TemporaryFolder(in: disk.path))
        }

        private func rotateOnFullDisk(_ folder: TemporaryFolder) throws {
            let scene = try RotationScene(20, in: folder)
            // Not in a file on the full disk.
            let outside = try TemporaryFolder()
            let key = outside.path("recovery-key")
            try withMount(scene.vault) { mount in
                // The free space is too small for a file of the vault, and perhaps large enough for the keybag.
                let filler = folder.path("filler")
                func fill() throws {
                    let filling = try attempt("cp", ["/dev/zero", filler])
                    #expect(filling.errors.contains("No space left"), "\(filling)")
                }
                func empty() throws { try run("rm", [filler]).succeeded() }
                func rotate() throws -> Outcome {
                    try mount.latchkey(
                        "rotate", "--wait", "--passcode-file", scene.vault.passcodeFile, "--recovery-key-file", key,
                        mount.path)
                }
                try fill()
                let keybag = try Disk.read(scene.vault.keybag)
                let full = try rotate()
                if full.status == 0 {
                    try run("rm", [key]).succeeded()
                } else {
                    #expect(full.status == 1 && full.errors.contains("No space left"), "\(full)")
                    #expect(try Disk.read(scene.vault.keybag) == keybag && !Disk.exists(key))
                }
                #expect(try scene.wrong(mount, count: 20) == "")

                // The disk is filled while the rotation is half done.
                try empty()
                let backing = try mount.backingPath("A/several")
                try run("chattr", ["+i", backing]).succeeded()
                #expect(try rotate().status == 1)
                try run("chattr", ["-i", backing]).succeeded()
                try fill()
                let outcome = try mount.latchkey("rotate", "--wait", mount.path, within: 120)
                #expect(outcome.status <= 1, "\(outcome)")
                #expect(try scene.wrong(mount, count: 20) == "")
                try empty()
                try scene.finish(mount)
                #expect(try scene.wrong(mount, count: 20) == "")
            }
            #expect(try scene.vault.fsck().clean)
            #expect(try scene.read().status == 0)
        }

        @Test func withoutPasscode() throws {
            let scene = try RotationScene(20, hasPasscode: false)
            try withMount(scene.vault, unlocked: false) { mount in
                try mount.latchkey("rotate", "--wait", "--recovery-key-file", scene.recoveryKey, mount.path).succeeded()
                #expect(try scene.wrong(mount, count: 20) == "")
            }
            #expect(try scene.openedByOldKeys() == [])
        }

        /// A file that cannot be written to keeps its old key, and the vault the old keys, until it can: also
        /// read-only, with another passcode and on another machine.
        @Test(.enabled(if: Immutable.isAvailable, Immutable.why)) func whatCannotBeWritten() throws {
            let scene = try RotationScene(30)
            var backing = ""
            defer { _ = try? run("chattr", ["-i", backing]) }
            try withMount(scene.vault) { mount in
                backing = try mount.backingPath("A/d0/f7")
                try run("chattr", ["+i", backing])
                let failed = try scene.rotate(mount)
                #expect(failed.status == 1 && failed.errors.contains("A/d0/f7"), "\(failed)")
                let progress = try #require(try scene.progress(mount))
                #expect(progress.failed == 1 && progress.phase == "waiting")
                #expect(try mount.latchkey("status", mount.path).text.contains("1 file not"))
                #expect(try scene.wrong(mount, count: 30) == "")
            }
            try withMount(scene.vault, options: ["-o", "ro"]) { mount in
                let wrong = try scene.wrong(mount, count: 30)
                #expect(wrong == "")
            }
            #expect(try scene.openedByOldKeys() == ["A/d0/f7"])
            #expect(try scene.vault.fsck().clean)
            // With another passcode, and then on a new machine.
            let second = try scene.vault.folder.write("another passcode", to: "second")
            try scene.vault.latchkey(
                [
                    "passwd", "--passcode-file", scene.vault.passcodeFile, "--new-passcode-file", second,
                    scene.vault.path,
                ]
            ).succeeded()
            try FileManager.default.removeItem(atPath: try scene.vault.deviceKeyFile())
            let point = try scene.vault.folder.makeFolder("point")
            try scene.vault.latchkey([
                "mount", "--recovery", "--recovery-key-file", scene.recoveryKey, "--passcode-file",
                scene.vault.passcodeFile, scene.vault.path, point,
            ]).succeeded()
            try shell("cat D/several", in: point)
            try scene.vault.latchkey(["unmount", point]).succeeded()
            try withMount(scene.vault) { mount in
                #expect(try scene.wrong(mount, count: 30) == "")
                try run("chattr", ["-i", backing]).succeeded()
                try scene.finish(mount)
                #expect(try scene.wrong(mount, count: 30) == "")
            }
            #expect(try scene.read().succeeded().status == 0)
        }
    }
}

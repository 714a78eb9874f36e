import Foundation
import TestSupport
import Testing

extension MountTests {
    /// `latchkey fsck --repair`, and what is seen in the mount afterwards.
    @Suite struct FsckRepairTests {
        private func damaged() throws -> AttackScene {
            let scene = try AttackScene()
            try scene.file("first").edit { $0[512 + 4128 + 100] ^= 1 }
            try scene.file("single").edit { $0[70] ^= 1 }
            try scene.file("strict").edit { $0[365] ^= 1 }
            try shell("rm '\(scene.backing["folder"]!)/lk.dir'").succeeded()
            try Disk.write([], to: scene.vault.path + "/lk.tmp.x")
            return scene
        }

        private static let left: Set = ["first", "single", "strict", "folder/inner"]

        @Test func whatIsLostIsFoundInTheMount() throws {
            let scene = try damaged()
            let result = try scene.vault.fsck("--repair", "--salvage", expecting: 6)
            #expect((result.damaged, result.leftovers, result.repaired) == (4, 1, 5))
            #expect(result.findings.allSatisfy { $0.repaired == true && $0.repair != nil })
            let again = try scene.vault.fsck()
            #expect(again.clean && again.leftovers == 0)
            try scene.afterwards(except: Self.left) { mounted in
                let found = mounted.path("lost+found")
                #expect(try mounted.contents("lost+found/single") == AttackScene.single)
                var salvaged = AttackScene.first
                salvaged.replaceSubrange(4096..<8192, with: [UInt8](repeating: 0, count: 4096))
                #expect(try mounted.contents("lost+found/first.salvaged") == salvaged)
                #expect(try mounted.probe.read(found + "/first") == .refused("EIO"))
                #expect(try mounted.probe.read(found + "/strict.unreadable") == .refused("EIO"))
                #expect(try mounted.contents("lost+found/strict.unreadable.header").count == 512)
                let name = try #require(try mounted.probe.list(found + "/folder").first)
                #expect(try mounted.contents("lost+found/folder/\(name)") == AttackScene.first)
                let report = String(decoding: try mounted.contents("lost+found/REPORT.txt"), as: UTF8.self)
                #expect(["/first", "/single", "/strict", "/folder"].allSatisfy(report.contains))
                // Every recovered file can be deleted.
                try shell("rm -r '\(found)'").succeeded()
            }
            #expect(try scene.vault.fsck().findings.isEmpty)
        }

        @Test func nothingIsChangedWithoutDamage() throws {
            let scene = try AttackScene()
            #expect(try scene.vault.fsck("--repair").findings.isEmpty)
            try scene.afterwards(except: []) { mounted in
                let hasLost = try mounted.probe.exists(mounted.path("lost+found"))
                #expect(!hasLost)
            }
        }

        @Test func optionsThatContradict() throws {
            let vault = try Vault()
            #expect(try vault.latchkey(["fsck", "--salvage", vault.path]).status == 2)
            #expect(
                try vault.latchkey(["fsck", "--no-contents", "--passcode-file", vault.passcodeFile, vault.path]).status
                    == 2)
        }

        /// The previous keybag takes the place of one that is damaged.
        @Test func aKeybagIsPutBack() throws {
            let scene = try AttackScene()
            let whole = try Disk.read(scene.vault.keybag)
            try Disk.write(whole, to: scene.vault.keybag + ".old")
            try Disk.edit(scene.vault.keybag) { $0[60] ^= 1 }
            let result = try scene.vault.fsck("--repair", expecting: 6)
            #expect(result.findings.map(\.kind) == ["keybag"])
            #expect(result.findings.first?.repaired == true)
            #expect(result.repaired == 1)
            #expect(try Disk.read(scene.vault.keybag) == whole)
            #expect(try scene.vault.fsck().findings.isEmpty)
        }

        /// Killed again and again at random moments: the last repair finishes.
        @Test func killedAndRunAgain() throws {
            let scene = try damaged()
            let (input, output) = (try StreamFile(), try StreamFile())
            for delay in stride(from: 0, to: 400_000, by: 40_000) {
                let child = try Child(
                    Built.latchkey,
                    ["fsck", "--repair", "--salvage", scene.vault.path, "--passcode-file", scene.vault.passcodeFile],
                    environment: scene.vault.environment, input: input.descriptor, output: output.descriptor,
                    errors: output.descriptor)
                usleep(UInt32(delay))
                child.send(SIGKILL)
                child.wait()
            }
            _ = try scene.vault.latchkey(
                ["fsck", "--repair", "--salvage", scene.vault.path, "--passcode-file", scene.vault.passcodeFile])
            let result = try scene.vault.fsck()
            #expect(result.clean && result.leftovers == 0)
            try scene.afterwards(except: Self.left) { mounted throws in
                #expect(try mounted.contents("lost+found/single") == AttackScene.single)
            }
        }

        /// The journal of a killed daemon is applied, and is no damage.
        @Test func afterTheDeathOfADaemon() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            let probe = try Probe()
            let contents = [UInt8](seed: 9, count: 9000)
            try probe.write(mount.file("synced"), contents)
            try probe.open(1, mount.file("synced"), "rw").required()
            try probe.pwrite(1, 100, [1, 2, 3]).required()
            try probe.fsync(1).required()
            mount.kill()
            probe.process.send(SIGKILL)
            probe.process.wait()
            mount.detach()
            let found = try vault.fsck()
            #expect(found.clean && found.findings.map(\.kind) == ["journal"])
            let repaired = try vault.fsck("--repair")
            #expect(repaired.clean && repaired.findings.map(\.repaired) == [true])
            #expect(try vault.fsck().findings.isEmpty)
            try withMount(vault) { mount in
                let probe = try Probe()
                var expected = contents
                expected.replaceSubrange(100..<103, with: [1, 2, 3])
                #expect(try probe.contents(mount.file("synced")) == expected)
                probe.process.send(SIGKILL)
                probe.process.wait()
            }
        }

        /// Ctrl-C in the middle of a repair: it reports what was done, the next repair does what is missing, and no
        /// file is half repaired.
        @Test func interruptedRepair() throws {
            let vault = try Vault()
            try withMount(vault) { mount in
                try shell("for i in $(seq 500); do head -c 5000 /dev/zero > '\(mount.path)'/file$i; done").succeeded()
            }
            // Some bytes of the first block of each.
            try shell(
                "find . -type f ! -name 'lk.*' "
                    + "-exec sh -c 'printf xxxxxxxx | dd of=\"$1\" bs=1 seek=700 conv=notrunc' _ {} \\;",
                in: vault.path
            ).succeeded()
            let (input, output) = (try StreamFile(), try StreamFile())
            defer { withExtendedLifetime(input) {} }
            let child = try Child(
                Built.latchkey, ["fsck", "--repair", "--json", vault.path, "--passcode-file", vault.passcodeFile],
                environment: vault.environment, input: input.descriptor, output: output.descriptor,
                errors: output.descriptor)
            let end = ContinuousClock.now + .seconds(20)
            while !String(decoding: output.contents, as: UTF8.self).contains("repaired"), ContinuousClock.now < end {
                usleep(1_000)
            }
            child.send(SIGINT)
            #expect(child.wait() == 128 + SIGINT)
            let result = try JSONDecoder().decode(FsckResult.self, from: Data(output.contents))
            #expect(!result.complete && result.damaged == 500)
            #expect((1..<500).contains(result.repaired))
            #expect(result.findings.count { $0.repaired == true } == result.repaired)
            let rest = try vault.fsck("--repair", expecting: 6)
            #expect(rest.damaged == 500 - result.repaired && rest.repaired == rest.damaged)
            #expect(try vault.fsck().clean)
        }

        /// Ctrl-C: the findings so far are reported, and the JSON is complete.
        @Test func interrupted() throws {
            let vault = try Vault()
            try withMount(vault) { mount in
                try shell("head -c 300000000 /dev/zero > '\(mount.file("large"))'").succeeded()
            }
            let (input, output) = (try StreamFile(), try StreamFile())
            defer { withExtendedLifetime(input) {} }
            let child = try Child(
                Built.latchkey, ["fsck", "--json", vault.path, "--passcode-file", vault.passcodeFile],
                environment: vault.environment, input: input.descriptor, output: output.descriptor,
                errors: output.descriptor)
            // Without a pause: the signal must follow the first line at once.
            let end = ContinuousClock.now + .seconds(20)
            var status = stat()
            repeat {
                _ = unsafe fstat(output.descriptor, &status)
            } while status.st_size == 0 && ContinuousClock.now < end
            child.send(SIGINT)
            #expect(child.wait() == 128 + SIGINT)
            let result = try JSONDecoder().decode(FsckResult.self, from: Data(output.contents))
            #expect(!result.complete && result.findings.isEmpty)
        }
    }
}

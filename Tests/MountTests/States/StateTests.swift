import TestSupport
import Testing

extension MountTests {
    /// The lock states as the commands print them.
    @Suite struct States {
        @Test func aMountBeginsBeforeTheFirstUnlock() throws {
            try withScene(unlocked: false) { scene in
                let status = try scene.mount.status()
                #expect(status.state == "before-first-unlock")
                #expect(status.pid == Int(scene.mount.daemon.pid))
                #expect(status.classKeys == ["none"], "class D alone")
                // There is nothing to lock yet, and a lock must not close class C for good.
                _ = try scene.mount.latchkey("lock", scene.mount.path, "--now", "--wait")
                try scene.mount.unlock()
                #expect(try scene.mount.status().state == "unlocked")
                #expect(try scene.mount.status().classKeys.count == 4)
                try scene.mount.lockNow()
                let locked = try scene.mount.status()
                #expect(locked.state == "locked")
                #expect(!locked.classKeys.contains("complete"))
                #expect(locked.classKeys.contains("complete-until-first-user-authentication"))
            }
        }

        @Test(arguments: [LockState.beforeFirstUnlock, .unlocked, .locked])
        func aWrongPasscodeChangesNothing(_ state: LockState) throws {
            try withScene(["--default-class", "complete"], unlocked: state != .beforeFirstUnlock) { scene in
                if state == .locked {
                    try scene.mount.lockNow()
                }
                let wrong = try scene.mount.vault.folder.write("wrong", to: "wrong")
                let outcome = try scene.mount.latchkey("unlock", scene.mount.path, "--passcode-file", wrong)
                #expect(outcome.status == 3, "\(outcome)")
                #expect(!outcome.errors.isEmpty)
                #expect(try scene.mount.status().state == state.rawValue)
            }
        }

        /// DIR may be any path inside the mount, or the vault.
        @Test func theMountIsFoundByAnyPath() throws {
            try withScene { scene in
                try scene.makeFolder("folder")
                try scene.makeFile("folder/file")
                for path in [scene.path("folder"), scene.path("folder/file"), scene.mount.vault.path] {
                    let outcome = try scene.mount.latchkey("status", path, "--json").succeeded()
                    #expect(try MountStatus(json: outcome.output).mountPoint == scene.mount.path, "\(path)")
                }
                try scene.mount.latchkey("lock", scene.mount.vault.path, "--now", "--wait").succeeded()
                #expect(try scene.mount.status().state == "locked")
                try scene.mount.latchkey(
                    "unlock", scene.path("folder"), "--passcode-file", scene.mount.vault.passcodeFile
                ).succeeded()
                #expect(try scene.mount.status().state == "unlocked")
                let all = try scene.mount.latchkey("status").succeeded()
                #expect(all.text.contains(scene.mount.path), "all mounts without DIR")
            }
        }

        @Test func statusCountsWhatIsOpenAndInMemory() throws {
            try withScene { scene in
                for (handle, protection) in ProtectionClass.allCases.enumerated() {
                    try scene.makeFile("file-\(protection)", class: protection)
                    try scene.probe.open(handle, scene.path("file-\(protection)"), "rw").required()
                    try scene.probe.pread(handle, 0, 3).required()
                }
                let status = try scene.mount.status()
                for protection in ProtectionClass.allCases {
                    #expect(status.openFiles[protection.rawValue] == 1, "\(protection)")
                }
                #expect(status.fileKeysInMemory == 4)
                try scene.mount.lockNow()
                #expect(try scene.mount.status().fileKeysInMemory == 3, "A's is gone, B's is held by its handle")
                for handle in 0..<4 {
                    try scene.probe.close(handle).required()
                }
                try scene.mount.untilNothingIsOpen()
            }
        }

        /// Programs keep their files open over many cycles, and find them unchanged each time.
        @Test func handlesServeAgainAfterEveryUnlock() throws {
            try withScene(["--default-class", "complete"]) { scene in
                let contents = [UInt8](seed: 1, count: 200_000)
                try scene.makeFile("file", contents)
                try scene.probe.open(0, scene.path("file"), "rw").required()
                try scene.probe.map(0, 0, 200_000).required()
                for turn in 1...8 {
                    try scene.mount.lockNow()
                    #expect(try scene.probe.pread(0, 0, 100) == .noKey, "turn \(turn)")
                    #expect(try scene.probe.touch(0, 150_000, 1) == .bus, "turn \(turn)")
                    try scene.mount.unlock()
                    #expect(try scene.probe.pread(0, 0, 200_000).bytes() == contents, "turn \(turn)")
                    #expect(try scene.probe.touch(0, 0, 200_000).bytes() == contents, "turn \(turn)")
                }
            }
        }

        @Test func passwdChangesThePasscodeAndTouchesNoFile() throws {
            let vault = try Vault(["--default-class", "complete"])
            let new = try vault.folder.write("another passcode", to: "new-passcode")
            let probe = try Probe()
            try withMount(vault) { mount in
                try probe.write(mount.file("file"), [1, 2, 3])
                let backing = try mount.backingPath("file")
                let before = try Disk.read(backing)
                try mount.latchkey(
                    "passwd", mount.path, "--passcode-file", vault.passcodeFile, "--new-passcode-file", new
                ).succeeded()
                #expect(try Disk.read(backing) == before)
                try mount.lockNow()
                let old = try mount.latchkey("unlock", mount.path, "--passcode-file", vault.passcodeFile)
                #expect(old.status == 3, "the old passcode")
                try mount.latchkey("unlock", mount.path, "--passcode-file", new).succeeded()
                #expect(try probe.contents(mount.file("file")) == [1, 2, 3])
            }
            try withMount(vault, unlocked: false) { mount in
                try mount.latchkey("unlock", mount.path, "--passcode-file", new).succeeded()
                let contents = try probe.contents(mount.file("file"))
                #expect(contents == [1, 2, 3])
            }
        }

        @Test func theRecoveryKeyUnlocks() throws {
            let vault = try Vault(["--default-class", "complete"])
            let probe = try Probe()
            try withMount(vault, unlocked: false) { mount in
                try mount.latchkey(
                    "unlock", mount.path, "--recovery", "--recovery-key-file", vault.recoveryKeyFile
                ).succeeded()
                try probe.write(mount.file("file"), [1, 2, 3])
                let contents = try probe.contents(mount.file("file"))
                #expect(contents == [1, 2, 3])
            }
        }
    }
}

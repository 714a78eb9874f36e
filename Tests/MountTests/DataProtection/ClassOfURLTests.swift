import TestSupport
import Testing

extension MountTests.DataProtection {
    @Test(arguments: ProtectionClass.allCases)
    func theClassOfAFileIsReadAndSet(_ protection: ProtectionClass) throws {
        try withProtected { it in
            try it.scene.makeFile("file")
            #expect(try it.ask("setclass", protection.appleName, it.path("file")) == .ok())
            #expect(try it.scene.classOf("file") == protection)
            #expect(try it.scene.isExplicit("file"))
            #expect(try it.ask("class", it.path("file")) == .ok(protection.appleName))
            try it.mount.lockNow()
            #expect(try it.ask("class", it.path("file")) == .ok(protection.appleName), "known while locked")
        }
    }

    @Test func aFoldersClassIsThatOfItsNewFiles() throws {
        try withProtected { it in
            try it.scene.makeFolder("folder")
            try it.scene.probe.ask("symlink", "folder", it.path("link")).required()
            #expect(try it.ask("setclass", "NSFileProtectionComplete", it.path("link")) == .ok(), "links are followed")
            try it.scene.makeFile("folder/file")
            #expect(try it.ask("class", it.path("folder/file")) == .ok("NSFileProtectionComplete"))
            #expect(try it.ask("class", it.path("link")) == .ok("NSFileProtectionComplete"))
        }
    }

    @Test func whatHasNoClassHasNone() throws {
        try withProtected { it in
            try it.scene.probe.ask("mkfifo", it.path("pipe"), "0644").required()
            #expect(try it.ask("class", it.path("pipe")) == .ok("nil"))
            #expect(try it.ask("setclass", "NSFileProtectionNone", it.path("pipe")) == .refused("notProtected"))
            #expect(try it.ask("class", it.path("missing")) == .refused("ENOENT"))
            try it.scene.makeFile("file")
            let inactive = "NSFileProtectionCompleteWhenUserInactive"
            #expect(try it.ask("setclass", inactive, it.path("file")) == .refused("unknownProtection"))
        }
    }

    @Test func lockedIsAnErrorOfItsOwn() throws {
        try withProtected { it in
            try it.scene.makeFile("file", class: .complete)
            try it.mount.lockNow()
            #expect(try it.ask("setclass", "NSFileProtectionNone", it.path("file")) == .refused("locked"))
            #expect(try it.scene.classOf("file") == .complete)
        }
    }

    /// An attribute of that name on another file system is ignored, and none is set there.
    @Test func outsideAMountNothingIsProtected() throws {
        try withProtected { it in
            let folder = it.mount.vault.folder
            let file = try folder.write("plain", to: "outside")
            let forged = try it.scene.probe.setClass("complete", of: file)
            #expect(try it.ask("class", file) == .ok("nil"), "the attribute was \(forged)")
            #expect(try it.ask("class", it.mount.vault.path) == .ok("nil"), "the vault holds ciphertext")
            let bare = try folder.write("plain", to: "bare")
            #expect(try it.ask("setclass", "NSFileProtectionComplete", bare) == .refused("notProtected"))
            #expect(try it.scene.probe.attributes(of: bare) == [])
            for call in [["write", "NSFileProtectionComplete", file, "01"], ["best", file, "01"]] {
                #expect(try it.program.ask(call) == .refused("notProtected"))
            }
            #expect(try Disk.read(file) == Array("plain".utf8), "nothing is written where nothing is protected")
            for call in ["available", "listen", "upgrade"] {
                #expect(try it.ask(call, folder.path) == .refused("notProtected"))
            }
        }
    }

    /// The mount point of a mount that has ended holds files like any other folder.
    @Test func whatIsLeftOfAMountIsNotProtected() throws {
        let vault = try Vault()
        let mount = try MountedVault(vault)
        let program = try Probe(Built.protected, environment: vault.environment)
        #expect(try program.ask("available", mount.path) == .ok("true"))
        mount.kill()
        let dead = try program.ask("write", "NSFileProtectionComplete", mount.file("file"), "01")
        #expect(dead == .refused("mountEnded") || dead == .refused("notProtected"), "\(dead)")
        mount.detach()
        #expect(
            try program.ask("write", "NSFileProtectionComplete", mount.file("file"), "01") == .refused("notProtected"))
        #expect(Disk.tree(mount.path) == [])
        // And the folder is the next daemon's mount.
        try withMount(vault, unlocked: false) { mount in
            #expect(try program.ask("available", mount.path) == .ok("false"))
            try mount.unlock()
            #expect(try program.ask("available", mount.path) == .ok("true"))
            #expect(try program.ask("write", "NSFileProtectionComplete", mount.file("file"), "01") == .ok())
            program.process.send(9)
            program.process.wait()
        }
    }
}

import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Vaults on file systems that can do less than a disk: what `doctor` says of them, and what `init` and `mount` do.
    @Suite(.enabled(if: FuseDevice.missing == nil, "needs FUSE")) struct Stores {
        /// What `doctor --json` writes.
        private struct Report: Decodable {
            struct Fact: Decodable {
                let answer: String
                let number: Int?
                let errno: String?
            }

            struct Finding: Decodable {
                let code, severity, text: String
            }

            let folder, kind, source: String
            let mountPoint: String?
            let isVault, isLocal: Bool
            let facts: [String: Fact]
            let findings: [Finding]

            func has(_ code: String, _ severity: String) -> Bool {
                findings.contains { $0.code == code && $0.severity == severity && !$0.text.isEmpty }
            }
        }

        private func doctor(_ path: String, status: Int32 = 0, in vault: Vault? = nil) throws -> Report {
            let environment = vault?.environment ?? Environment.plain
            let outcome = try attempt(Built.latchkey, ["doctor", "--json", path], environment: environment)
            #expect(outcome.status == status, "\(outcome)")
            return try JSONDecoder().decode(Report.self, from: Data(outcome.output))
        }

        /// What `init` answers for a folder in the store.
        private func initialize(_ path: String, _ options: [String] = []) throws -> Outcome {
            let scratch = try TemporaryFolder()
            let environment = Environment.plain.merging([
                "XDG_STATE_HOME": try scratch.makeFolder("state", mode: 0o700)
            ]) { $1 }
            return try attempt(
                Built.latchkey,
                ["init", "--no-passcode", "--recovery-key-file", scratch.path("key"), path] + options,
                environment: environment)
        }

        /// `doctor` on a folder, in which it leaves nothing.
        private func checked(_ path: String, status: Int32 = 0) throws -> Report {
            let before = Disk.tree(path)
            let report = try doctor(path, status: status)
            #expect(Disk.tree(path) == before)
            return report
        }

        /// An overlay copies what lies below it; a vault that is made in it lies in its upper folder.
        @Test(.enabled(if: geteuid() == 0, "needs root, to mount an overlay")) func anOverlay() throws {
            let vault = try Vault()
            let folder = try TemporaryFolder()
            for name in ["upper", "work", "merged"] { _ = try folder.makeFolder(name) }
            let below = URL(filePath: vault.path).deletingLastPathComponent().path
            let layers = "lowerdir=\(below),upperdir=\(folder.path("upper")),workdir=\(folder.path("work"))"
            try run("mount", ["-t", "overlay", "-o", layers, "overlay", folder.path("merged")]).succeeded()
            defer { _ = try? attempt("umount", ["-l", folder.path("merged")]) }
            let there = folder.path("merged") + "/" + URL(filePath: vault.path).lastPathComponent
            #expect(try checked(there, status: 7).has("belowOverlay", "loses data"))
            let refused = try vault.latchkey(["mount", there, try folder.makeFolder("point")])
            #expect(refused.status == 7 && refused.errors.contains("hard link"), "\(refused)")
            #expect(try !checked(folder.path("merged")).has("belowOverlay", "loses data"))
        }

        @Test func aDiskIsKnown() throws {
            let vault = try Vault()
            let report = try checked(vault.path)
            #expect(report.isVault && report.mountPoint == nil && report.folder == vault.path)
            #expect(report.facts["renameOver"]?.answer == "yes" && report.facts["nameBytes"]?.number == 255)
            #expect(!report.findings.contains { $0.severity == "loses data" })
            try withMount(vault) { mount in
                for path in [mount.path, vault.path] {
                    let report = try doctor(path, in: vault)
                    #expect(report.mountPoint == mount.path && report.folder == vault.path)
                }
                #expect(!mount.messages.contains("where the vault lies"), "\(mount.messages)")
            }
            let text = try attempt(Built.latchkey, ["doctor", vault.path], environment: vault.environment)
            #expect(text.status == 0 && text.text.contains("rename over a name") && text.text.contains("not mounted"))
            let missing = try attempt(Built.latchkey, ["doctor", vault.path + "/missing"])
            #expect(missing.status == 5, "\(missing)")
        }

        @Test(.enabled(if: OtherStore.hasSSH, "sshfs or sftp-server is missing")) func aVaultOnSSH() throws {
            let store = try OtherStore.ssh()
            let report = try checked(store.path)
            #expect(
                report.kind == "sshfs" && report.source == "host:\(store.source)" && !report.isLocal && !report.isVault)
            #expect(report.facts["renameOver"]?.answer == "yes" && report.facts["sharedLocks"]?.answer == "no")
            #expect(report.facts["userAttributes"]?.errno == "EOPNOTSUPP")
            #expect(report.has("noAttributes", "note"))
            #expect(report.has("unlikeHardLinks", "promise does not hold"))

            let vault = try Vault(at: store.path + "/vault")
            let point = try vault.folder.makeFolder("point")
            let mounted = try vault.latchkey(["mount", "--passcode-file", vault.passcodeFile, vault.path, point])
            defer { _ = try? vault.latchkey(["unmount", "--lazy", point]) }
            #expect(mounted.status == 0 && mounted.errors.contains("look like two files"), "\(mounted)")
            #expect(!mounted.errors.contains("extended attributes"), "\(mounted)")
            #expect(mounted.errors.contains("  try: latchkey doctor \(vault.path)"), "\(mounted)")
            try shell("echo text > file; ln -s file link; [ $(cat link) = text ]; mkdir d; mv file d", in: point)
            // The store keeps a removed file that is open in the folder: the daemon has it open until a checkpoint.
            try shell("mkdir e; echo text > e/file; rm -r e; [ ! -e e ]", in: point)
            // Its two names would be two files, each with changes of its own.
            let link = try attemptShell("ln d/file other", in: point)
            #expect(link.status != 0 && link.errors.contains("Operation not permitted"), "\(link)")
            #expect(try doctor(point, in: vault).mountPoint == point)
            try vault.latchkey(["unmount", point]).succeeded()
            #expect(!Disk.tree(store.source).contains { $0.contains("lk.tmp.") })
            try vault.latchkey(["fsck", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()

            store.disconnect()
            let refused = try vault.latchkey(["fsck", vault.path])
            #expect(
                refused.status == 1 && refused.errors.contains("sshfs on \(store.path), is not connected"), "\(refused)"
            )
            #expect(!refused.errors.contains("daemon of this mount"), "\(refused)")
        }

        @Test func oneCaseOfNames() throws {
            let store = try OtherStore.passthrough("no-case")
            #expect(try checked(store.path, status: 7).has("caseInsensitive", "loses data"))
            for options in [[], ["--store-risk", "accept"]] {
                let outcome = try initialize(store.path + "/vault", options)
                #expect(outcome.status == 1 && outcome.errors.contains("does not distinguish a from A"), "\(outcome)")
            }
            #expect(Disk.tree(store.source) == [], "a folder that init has made goes, too")
        }

        @Test func noLinks() throws {
            let store = try OtherStore.passthrough("no-links")
            let report = try checked(store.path)
            #expect(
                report.has("noSymbolicLinks", "promise does not hold") && report.facts["hardLinks"]?.errno == "EPERM")
            #expect(report.has("unknownKind", "note"))
            let vault = try Vault(at: store.path + "/vault")
            try withMount(vault) { mount in
                try shell("mkdir d; echo text > d/file; mv d e; [ $(cat e/file) = text ]", in: mount.path)
                #expect(try attemptShell("ln -s e link", in: mount.path).status != 0)
                #expect(try attemptShell("ln e/file link", in: mount.path).errors.contains("not permitted"))
                #expect(mount.messages.contains("it has no symbolic links"), "\(mount.messages)")
            }
            try vault.latchkey(["fsck", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()
        }

        @Test func noReplacement() throws {
            let store = try OtherStore.passthrough("no-replacement")
            #expect(try checked(store.path, status: 7).has("noRenameOver", "loses data"))
            let outcome = try initialize(store.path)
            #expect(
                outcome.status == 7 && outcome.errors.contains("passthrough, where a vault loses data"), "\(outcome)")
            #expect(outcome.errors.contains("try: latchkey doctor \(store.path)"), "\(outcome)")
            #expect(Disk.tree(store.source) == [])

            let vault = try Vault(at: store.source + "/vault")
            try withMount(vault) { mount in try shell("echo text > file", in: mount.path).succeeded() }
            let there = Vault(copy: store.path + "/vault", of: vault)
            let point = try vault.folder.makeFolder("point")
            let unlocking = ["--passcode-file", vault.passcodeFile]
            let refused = try there.latchkey(["mount"] + unlocking + [there.path, point])
            #expect(refused.status == 7 && refused.errors.contains("a rename does not replace"), "\(refused)")
            let accepting = "latchkey mount --store-risk accept \(there.path) \(point)"
            #expect(refused.errors.contains("try: \(accepting)"), "\(refused)")
            try withMount(there, options: ["--store-risk", "accept"]) { mount in
                let text = try shell("cat file", in: mount.path).text
                #expect(text == "text\n")
                #expect(mount.messages.contains("a rename does not replace"), "\(mount.messages)")
            }
            // What is only read loses nothing.
            try withMount(there, options: ["-o", "ro"]) { mount in
                let text = try shell("cat file", in: mount.path).text
                #expect(text == "text\n")
            }
        }

        /// On such a store the class that a mount was asked for had no effect.
        @Test func aRenameOverALinkIsNotSeen() throws {
            let store = try OtherStore.passthrough("stale-links")
            #expect(try checked(store.path, status: 7).has("staleLinks", "loses data"))
            let refused = try initialize(store.path + "/vault")
            #expect(refused.status == 7 && refused.errors.contains("a folder may keep a weaker class"), "\(refused)")
            #expect(Disk.tree(store.source) == [])

            let vault = try Vault(at: store.source + "/vault")
            let there = Vault(copy: store.path + "/vault", of: vault)
            let point = try vault.folder.makeFolder("point")
            let unlocking = ["--unlock", "--passcode-file", vault.passcodeFile, "--store-risk", "accept"]
            let mounted = try there.latchkey(
                ["mount", "--class-default", "complete"] + unlocking + [there.path, point])
            defer { _ = try? there.latchkey(["unmount", "--lazy", point]) }
            #expect(mounted.status == 7 && mounted.errors.contains("still shows the old class"), "\(mounted)")
            #expect(!mounted.errors.contains("--store-risk accept"), "\(mounted)")
            #expect(FuseConnection(at: point) == nil)
            // The same for a folder of a mount that the user has accepted.
            try withMount(there, options: ["--store-risk", "accept"]) { mount in
                let set = try attemptShell("mkdir d; setfattr -n user.latchkey.class -v complete d", in: mount.path)
                #expect(set.status != 0 && set.errors.contains("Input/output error"), "\(set)")
            }
        }

        @Test func anOpenFileCannotBeRenamed() throws {
            let store = try OtherStore.passthrough("no-open-rename")
            let report = try checked(store.path, status: 7)
            #expect(report.has("noRenameOfOpenFiles", "loses data"))
            #expect(report.facts["renameOpenFile"]?.errno == "EBUSY")
            for options in [[], ["--store-risk", "accept"]] {
                let refused = try initialize(store.path + "/vault", options)
                #expect(refused.status == 7 && refused.errors.contains("where no vault can live"), "\(refused)")
                #expect(refused.errors.contains("a file that is open cannot be renamed"), "\(refused)")
                #expect(!refused.errors.contains("--store-risk accept"), "\(refused)")
            }
            #expect(Disk.tree(store.source) == [])
        }

        @Test func noFolderIsListed() throws {
            let store = try OtherStore.passthrough("no-listing")
            #expect(try checked(store.path, status: 7).has("noListing", "loses data"))
            for path in [store.path, store.path + "/vault"] {
                let refused = try initialize(path)
                #expect(refused.status == 7, "\(refused)")
                #expect(refused.errors.contains("does not list the names in a folder (EINVAL)"), "\(refused)")
            }
            #expect(Disk.tree(store.source) == [])
        }

        /// Its cache knows files by their names: what is written to a file that was replaced goes to the new one.
        @Test(.enabled(if: OtherStore.hasRclone, "rclone is missing"), arguments: 1...3)
        func filesOfACacheAreMixedUp(_ turn: Int) throws {
            let store = try OtherStore.rclone(cached: true)
            let report = try checked(store.path, status: 7)
            #expect(report.has("mixedFiles", "loses data"))
            #expect(report.facts["openFileAfterReplacement"]?.answer == "no")
            let refused = try initialize(store.path + "/vault")
            #expect(refused.status == 7 && refused.errors.contains("where a vault loses data"), "\(refused)")
        }

        @Test(.enabled(if: OtherStore.hasRclone, "rclone is missing")) func onlyWholeFiles() throws {
            let store = try OtherStore.rclone()
            let report = try checked(store.path, status: 7)
            #expect(report.kind == "rclone" && report.has("noRandomWrites", "loses data"))
            let outcome = try initialize(store.path + "/vault")
            #expect(outcome.status == 7 && outcome.errors.contains("takes no writes at any offset"), "\(outcome)")
            #expect(Disk.tree(store.source) == [])
        }
    }
}

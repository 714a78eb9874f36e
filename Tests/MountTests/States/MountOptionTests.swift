import Foundation
import TestSupport
import Testing

extension MountTests {
    /// `latchkey mount` as a user types it: it returns when mounted, and accepts the usual options.
    @Suite struct MountOptions {
        private func withDetachedMount(_ vault: Vault, _ options: [String], _ body: (String) throws -> Void) throws {
            let path = try vault.folder.makeFolder("detached")
            try vault.latchkey(["mount", vault.path, path] + options).succeeded()
            let pid = try MountStatus(json: try vault.latchkey(["status", path, "--json"]).succeeded().output).pid
            LiveMounts.add(path, device: 0, daemon: pid_t(pid))
            defer { LiveMounts.remove(path) }
            #expect(mountLines(of: path).count == 1, "mounted when the command returns")
            do {
                try body(path)
                try vault.latchkey(["unmount", path]).succeeded()
            } catch {
                _ = try? vault.latchkey(["unmount", "--lazy", path])
                throw error
            }
            #expect(mountLines(of: path).isEmpty)
            // A zombie counts as ended; init reaps it, perhaps later.
            let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            #expect(stat?.contains(") Z ") ?? true, "the daemon has ended when unmount returns: \(stat ?? "")")
        }

        @Test func returnsWhenMounted() throws {
            let vault = try Vault(["--default-class", "complete"])
            try withDetachedMount(vault, ["--unlock", "--passcode-file", vault.passcodeFile]) { path in
                let probe = try Probe()
                try probe.write(path + "/file", [1, 2, 3])
                let pid = try MountStatus(json: try vault.latchkey(["status", path, "--json"]).output).pid
                let cwd = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")
                #expect(cwd == "/", "no folder is kept busy")
                #expect(try String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8) == "latchkey\n")
                for number in 0...2 {
                    let stream = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(number)")
                    #expect(stream == "/dev/null", "no stream of the mounting user is kept: \(number)")
                }
            }
        }

        /// If mounting fails, the command reports it, and no process stays.
        @Test func aWrongPasscodeLeavesNothing() throws {
            let vault = try Vault()
            let wrong = try vault.folder.write("wrong", to: "wrong")
            let path = try vault.folder.makeFolder("m")
            let outcome = try vault.latchkey(["mount", vault.path, path, "--unlock", "--passcode-file", wrong])
            #expect(outcome.status == 3, "\(outcome)")
            if !mountLines(of: path).isEmpty {
                try vault.latchkey(["unmount", path]).succeeded()
            }
            try withMount(vault) { _ in }
        }

        @Test func readOnly() throws {
            let vault = try Vault(["--default-class", "complete"])
            let probe = try Probe()
            try withMount(vault) { mount in
                try probe.write(mount.file("file"), [1, 2, 3])
            }
            let before = try Disk.read(vault.path + "/" + Disk.tree(vault.path).first { !$0.hasPrefix("lk.") }!)
            try withMount(vault, options: ["-o", "ro"]) { mount in
                #expect(try probe.contents(mount.file("file")) == [1, 2, 3])
                #expect(try probe.open(0, mount.file("file"), "rw") == .refused("EROFS"))
                #expect(try probe.open(0, mount.file("new"), "rw,creat") == .refused("EROFS"))
                #expect(try probe.setClass("none", of: mount.file("file")) == .refused("EROFS"))
                try mount.lockNow()
                #expect(try probe.open(0, mount.file("file")) == .noKey)
                try mount.unlock()
                #expect(try probe.contents(mount.file("file")) == [1, 2, 3])
            }
            #expect(try Disk.read(vault.path + "/" + Disk.tree(vault.path).first { !$0.hasPrefix("lk.") }!) == before)
        }

        @Test func theUsualOnesReachTheKernel() throws {
            let vault = try Vault()
            try withMount(vault) { mount in
                let line = mountLines(of: mount.path)[0]
                #expect(line.contains("nosuid") && line.contains("nodev"), "unless asked: \(line)")
            }
            try withMount(vault, options: ["-o", "suid,dev,noexec", "-o", "fsname=mine,allow_other"]) { mount in
                let line = mountLines(of: mount.path)[0]
                #expect(!line.contains("nosuid") && !line.contains("nodev"), "\(line)")
                #expect(line.contains("noexec") && line.contains(" mine ") && line.contains("allow_other"), "\(line)")
            }
            let path = try vault.folder.makeFolder("m")
            let outcome = try vault.latchkey(["mount", vault.path, path, "-o", "frobnicate"])
            #expect(outcome.status == 2, "\(outcome)")
            #expect(mountLines(of: path).isEmpty)
        }

        /// A mount in use is not taken from its users unless an option asks for it.
        @Test func aMountInUseIsBusy() throws {
            let vault = try Vault(["--default-class", "complete"])
            let probe = try Probe()
            let mount = try MountedVault(vault)
            try probe.open(0, mount.file("file"), "rw,creat").required()
            try probe.pwrite(0, 0, [1, 2, 3]).required()
            let refused = try mount.latchkey("unmount", mount.path)
            #expect(refused.status == 1 && refused.errors.contains("use"), "\(refused)")
            #expect(try probe.pread(0, 0, 3).bytes() == [1, 2, 3])
            #expect(try mount.status().state == "unlocked")

            try mount.latchkey("unmount", "--lazy", mount.path).succeeded()
            #expect(mountLines(of: mount.path).isEmpty)
            try probe.close(0).required()
            mount.expectEnded(status: 0)
            try withMount(vault) { mount in
                let contents = try probe.contents(mount.file("file"))
                #expect(contents == [1, 2, 3])
            }
        }

        /// Two vaults side by side do not affect each other.
        @Test func twoVaults() throws {
            let one = try Vault(["--default-class", "complete"])
            let two = try Vault(["--default-class", "complete"])
            let probe = try Probe()
            try withMount(one) { first in
                try withMount(two) { second in
                    try probe.write(first.file("file"), [1])
                    try probe.write(second.file("file"), [2])
                    try first.lockNow()
                    #expect(try probe.open(0, first.file("file")) == .noKey)
                    #expect(try probe.contents(second.file("file")) == [2])
                    let all = try one.latchkey(["status"]).succeeded().text
                    #expect(all.contains(first.path) && all.contains(second.path))
                }
            }
        }
    }
}

import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `status --holders`: which programs have which files open or mapped.
    @Suite struct HolderTests {
        private func holders(_ scene: Scene) throws -> MountStatus {
            let outcome = try scene.mount.latchkey("status", scene.mount.path, "--holders", "--json").succeeded()
            return try MountStatus(json: outcome.output)
        }

        private func holder(_ process: Child, in status: MountStatus) throws -> MountStatus.Holder? {
            try #require(status.holders).first { $0.pid == Int(process.pid) }
        }

        @Test func openAndMappedFilesAreCountedByClass() throws {
            try withScene { scene in
                for kind in ProtectionClass.allCases { try scene.makeFile("file-\(kind)", class: kind) }
                try scene.makeFolder("folder")
                let other = try Probe()
                try scene.probe.open(0, scene.path("file-A"), "rw").required()
                try scene.probe.open(1, scene.path("file-A")).required()
                try scene.probe.open(2, scene.path("file-C")).required()
                try scene.probe.open(3, scene.path("folder"), "r,dir").required()
                try scene.probe.map(0, 0, 3, "shared", "r").required()
                // Only mapped, and only in another process.
                try other.open(0, scene.path("file-B")).required()
                try other.map(0, 0, 3, "private", "r").required()
                try other.close(0).required()

                let status = try holders(scene)
                let first = try #require(try holder(scene.probe.process, in: status))
                #expect(first.name == "probe")
                #expect(first.openFiles == ["complete": 1, "complete-until-first-user-authentication": 1])
                #expect(first.mappedFiles == ["complete": 1])
                let second = try #require(try holder(other.process, in: status))
                #expect(second.openFiles == [:])
                #expect(second.mappedFiles == ["complete-unless-open": 1])
                #expect(status.unseenProcesses != nil)

                // The command also answers while locked, and for an unlinked file.
                try scene.probe.ask("unlink", scene.path("file-A")).required()
                try scene.mount.lockNow()
                #expect(try holder(scene.probe.process, in: try holders(scene)) == first)
                let text = try scene.mount.latchkey("status", scene.mount.path, "--holders").succeeded().text
                let line = "\(scene.probe.process.pid) (probe): A: 1 open, 1 mapped; C: 1 open; 1 folder\n"
                #expect(text.contains(line), "\(text)")

                other.process.send(SIGKILL)
                other.process.wait()
                #expect(try holder(other.process, in: try holders(scene)) == nil)
            }
        }

        /// A shell that stands in the mount, and a program that is confined to it: `unmount` names them by itself.
        @Test func workingFoldersAndRoots() throws {
            try withMount(Vault()) { mount in
                try shell("mkdir -p f/g", in: mount.path)
                let script = """
                    import os, sys
                    os.chroot(sys.argv[1]) if sys.argv[2] == "root" else os.chdir(sys.argv[1])
                    print("there", flush=True)
                    sys.stdin.readline()
                    """
                var users: [LineProgram] = []
                for (folder, how) in [("f", "cwd"), ("f/g", "root")] where how == "cwd" || geteuid() == 0 {
                    let user = try LineProgram("python3", ["-c", script, mount.file(folder), how])
                    #expect(try user.line(within: 20, to: how) == "there")
                    users.append(user)
                }
                let json = try mount.latchkey("status", mount.path, "--holders", "--json").succeeded().output
                let holders = try #require(try MountStatus(json: json).holders)
                let expected = [(true, false), (false, true)].prefix(users.count)
                for (user, (workingFolder, root)) in zip(users, expected) {
                    let holder = try #require(holders.first { $0.pid == Int(user.process.pid) })
                    #expect(holder.folders == 1 && holder.openFiles.isEmpty)
                    #expect(holder.workingFolder == workingFolder && holder.root == root)
                }
                let busy = try mount.latchkey("unmount", mount.path)
                #expect(busy.status == 1 && busy.errors.contains("is in use:\n"), "\(busy)")
                let pids = users.map(\.process.pid)
                #expect(busy.errors.contains("  \(pids[0]) (python3): 1 folder (working folder)\n"), "\(busy)")
                if users.count > 1 { #expect(busy.errors.contains("  \(pids[1]) (python3): 1 folder (root)\n")) }
                #expect(!busy.errors.contains("fuser"), "\(busy)")
                for user in users {
                    user.endInput()
                    #expect(user.process.wait(seconds: 20) == 0)
                }
            }
        }

        /// A file that no process has open, but that is on its way from one to another, makes the mount busy. If it
        /// is let go soon, `unmount` succeeds; else it says what it cannot see.
        @Test func aFileOnItsWay() throws {
            let mount = try MountedVault(Vault())
            defer { mount.detach() }
            try shell("echo contents > file", in: mount.path)
            let script = """
                import array, os, socket, sys
                one, other = socket.socketpair()
                file = os.open(sys.argv[1], os.O_RDONLY)
                one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))])
                os.close(file)
                print("sent", flush=True)
                sys.stdin.readline()
                """
            let sender = try LineProgram("python3", ["-c", script, mount.file("file")])
            #expect(try sender.line(within: 20, to: "send") == "sent")
            let busy = try mount.latchkey("unmount", mount.path)
            #expect(busy.status == 1 && busy.errors.contains("by a program that has just ended"), "\(busy)")
            let streams = try StreamFile()
            let unmounting = try Child(
                Built.latchkey, ["unmount", mount.path], environment: mount.vault.environment,
                input: streams.descriptor, output: streams.descriptor, errors: streams.descriptor)
            // It has found the mount busy by then, or finds it free.
            usleep(300_000)
            sender.endInput()
            #expect(sender.process.wait(seconds: 20) == 0)
            #expect(unmounting.wait(seconds: 20) == 0)
            mount.expectEnded(status: 0)
        }

        /// After the daemon has died no class is known, and the processes are still named; the advice ends the mount.
        @Test func ofADeadDaemon() throws {
            let mount = try MountedVault(Vault())
            defer { mount.detach() }
            let shell = try LineProgram("bash", ["-c", "cd '\(mount.path)' && echo there && read"])
            #expect(try shell.line(within: 20, to: "cd") == "there")
            mount.kill()
            let busy = try mount.latchkey("unmount", mount.path)
            #expect(busy.status == 1, "\(busy)")
            #expect(busy.errors.contains("\n  \(shell.process.pid) (bash): 1 folder (working folder)\n"), "\(busy)")
            #expect(busy.errors.contains("try: latchkey unmount --lazy \(mount.path)\n"), "\(busy)")
            try mount.latchkey("unmount", "--lazy", mount.path).succeeded()
            #expect(mountLines(of: mount.path).isEmpty)
            shell.endInput()
            #expect(shell.process.wait(seconds: 20) != nil)
        }

        /// Another mount below it is named, and the advice works as it is written.
        @Test func aMountBelow() throws {
            try withMount(Vault()) { mount in
                try shell("mkdir f; mount -t tmpfs none f", in: mount.path)
                let busy = try mount.latchkey("unmount", mount.path)
                #expect(busy.status == 1 && busy.errors.contains("\(mount.file("f")) is mounted in it"), "\(busy)")
                #expect(busy.errors.contains("try: umount \(mount.file("f"))\n"), "\(busy)")
                try shell("umount \(mount.file("f"))")
            }
        }

        @Test func withoutHoldersNoneIsListed() throws {
            try withScene { scene in
                try scene.makeFile("file")
                #expect(try holders(scene).holders == [])
                let text = try scene.mount.latchkey("status", scene.mount.path, "--holders").succeeded().text
                #expect(text.contains("no process"))
            }
        }
    }
}

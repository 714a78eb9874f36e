import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A daemon that does not answer may hold keys: no command reports its mount as missing.
    @Suite struct SilentDaemon {
        @Test func withoutItsSocketItIsNamed() throws {
            try withMount(try Vault()) { mount in
                let socket = try mount.socket()
                let folder = (socket as NSString).deletingLastPathComponent
                var status = stat()
                try #require(unsafe stat(mount.path, &status) == 0)
                let link = "\(folder)/device-\(status.st_dev)"
                try FileManager.default.moveItem(atPath: socket, toPath: socket + ".away")
                let target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
                try FileManager.default.removeItem(atPath: link)
                defer {
                    try? FileManager.default.moveItem(atPath: socket + ".away", toPath: socket)
                    try? FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
                }
                for command in [["status"], ["status", mount.path], ["lock", mount.path], ["lock", "--all"]] {
                    try expectNamed(mount, command, "kill -USR1 \(mount.daemon.pid)")
                }
                // The advice in the message works.
                mount.daemon.send(SIGUSR1)
            }
        }

        @Test func aStoppedOneIsNamed() throws {
            try withMount(try Vault()) { mount in
                mount.daemon.send(SIGSTOP)
                defer { mount.daemon.send(SIGCONT) }
                // After an unmount the daemon would live on with its keys, and no command would find it.
                let commands = [["status"], ["lock", "--now", mount.path], ["unmount", "--lazy", mount.path]]
                // Each waits for the daemon for some seconds.
                let running = try commands.map { command in
                    let said = try StreamFile()
                    let child = try Child(
                        Built.latchkey, command, input: said.descriptor, output: said.descriptor,
                        errors: said.descriptor)
                    return (child, said)
                }
                for (child, said) in running {
                    let status = child.wait(seconds: 60)
                    let text = String(decoding: said.contents, as: UTF8.self)
                    #expect(status == 1 && text.contains(mount.path), "\(text)")
                    #expect(text.contains("kill -CONT \(mount.daemon.pid)"), "\(text)")
                    #expect(!text.contains("No vault is mounted"), "\(text)")
                }
                #expect(!mountLines(of: mount.path).isEmpty)
            }
        }

        /// The daemons of other users that do not answer keep root's locks from nothing.
        @Test(.enabled(if: geteuid() == 0, "other users are needed")) func lockAllBeginsBeforeTheyAreWaitedFor() throws
        {
            try withMount(try Vault()) { mount in
                let said = try StreamFile()
                let silent = try Child(
                    "python3", ["-c", Self.listening], input: said.descriptor, output: said.descriptor,
                    errors: said.descriptor)
                defer {
                    silent.send(SIGTERM)
                    _ = silent.wait(seconds: 5)
                }
                let end = ContinuousClock.now + .seconds(20)
                while said.contents.isEmpty, ContinuousClock.now < end { usleep(1000) }
                try #require(String(decoding: said.contents, as: UTF8.self) == "listening\n")
                let words = try StreamFile()
                let lock = try Child(
                    Built.latchkey, ["lock", "--all", "--now"], input: words.descriptor, output: words.descriptor,
                    errors: words.descriptor)
                while try mount.status().state != "locked", lock.wait(seconds: 0) == nil, ContinuousClock.now < end {}
                #expect(lock.wait(seconds: 0) == nil, "it has waited first")
                #expect(try mount.status().state == "locked")
                #expect(lock.wait(seconds: 60) == 0, "\(String(decoding: words.contents, as: UTF8.self))")
            }
        }

        /// Sockets of another user that take connections and never answer, until SIGTERM.
        private static let listening = """
            import os, shutil, signal, socket
            folder, user = "/tmp/latchkey-61241", 61241
            os.makedirs(folder, 0o700)
            try:
                sockets = []
                for number in range(8):
                    one = socket.socket(socket.AF_UNIX)
                    one.bind(f"{folder}/{number:032x}.socket")
                    one.listen()
                    sockets.append(one)
                    os.chown(f"{folder}/{number:032x}.socket", user, user)
                os.chown(folder, user, user)
                signal.signal(signal.SIGTERM, lambda *_: shutil.rmtree(folder) or os._exit(0))
                signal.alarm(120)
                os.write(1, b"listening\\n")
                while True: signal.pause()
            finally: shutil.rmtree(folder, ignore_errors=True)
            """

        /// A missing path in a working mount says nothing of the mount.
        @Test func aMistypedPathIsNotTheMount() throws {
            try withMount(try Vault()) { mount in
                try probeLink(mount)
                for path in ["nope", "file/nope", "dangling"].map(mount.file) {
                    for command in [["unmount"], ["unmount", "--lazy"], ["lock"], ["status"], ["erase", "--yes"]] {
                        let said = try mount.latchkey(command + [path])
                        #expect(said.status == 5 && !said.errors.contains("cannot be asked"), "\(said)")
                    }
                }
                #expect(try mount.status().state == "unlocked")
            }
        }

        private func probeLink(_ mount: MountedVault) throws {
            try shell("echo contents > file; ln -s nope dangling", in: mount.path)
        }

        private func expectNamed(_ mount: MountedVault, _ command: [String], _ advice: String) throws {
            let said = try mount.latchkey(command)
            #expect(said.status == 1, "\(said)")
            #expect(said.errors.contains(mount.path) && said.errors.contains(advice), "\(said)")
            #expect(!said.text.contains("No vault is mounted"), "\(said)")
        }

        /// If monitors use up their connections, a lock can still be requested.
        @Test func aLockIsTakenBesideManyMonitors() throws {
            try withMount(try Vault()) { mount in
                let said = try run("python3", ["-c", Self.watching, mount.socket(), Built.latchkey, mount.path])
                #expect(said.status == 0 && said.text.contains("is locked"), "\(said)")
            }
        }

        private static let watching = """
            import socket, subprocess, sys
            watching = []
            for _ in range(70):
                try:
                    one = socket.socket(socket.AF_UNIX)
                    one.connect(sys.argv[1])
                    one.sendall(b'{"method":"io.latchkey.Monitor","more":true}\\0')
                    one.settimeout(5)
                    one.recv(1)
                    watching.append(one)
                except OSError: pass
            print(len(watching))
            sys.exit(subprocess.run([sys.argv[2], "lock", "--now", "--wait", sys.argv[3]]).returncode)
            """

        /// Descriptors: a program opens files until there are no more.
        @Test func aLockIsTakenWithoutDescriptors() throws {
            try withMount(try Vault(), descriptorLimit: 96) { mount in
                let said = try run("python3", ["-c", Self.opening, mount.path, Built.latchkey])
                #expect(said.status == 0 && said.text.contains("is locked"), "\(said)")
            }
        }

        private static let opening = """
            import os, subprocess, sys
            files = []
            try:
                for number in range(300):
                    files.append(os.open(f"{sys.argv[1]}/{number}", os.O_CREAT | os.O_RDWR))
            except OSError as error: print(error, flush=True)
            status = subprocess.run([sys.argv[2], "status", sys.argv[1]]).returncode
            sys.exit(status or subprocess.run([sys.argv[2], "lock", "--now", "--wait", sys.argv[1]]).returncode)
            """

        /// umount(8) does not wait for the daemon, and the next mount does.
        @Test func aMountWaitsForTheDaemonOfTheOneBefore() throws {
            let vault = try Vault()
            let point = try vault.folder.makeFolder("again")
            for turn in 0..<8 {
                try vault.latchkey(
                    ["mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point]
                ).succeeded()
                try shell("head -c 3000000 /dev/urandom > \(point)/file\(turn); umount \(point)").succeeded()
            }
            try vault.latchkey(["mount", vault.path, point]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
        }

        /// A program with a mount namespace of its own, such as a container, keeps the mount that umount(8) has
        /// removed.
        @Test(.enabled(if: geteuid() == 0, "needs root")) func aMountNamespaceThatKeepsAMountIsTold() throws {
            let vault = try Vault()
            let point = try vault.folder.makeFolder("kept")
            try shell(
                """
                mount() {
                    \(Built.latchkey) mount --unlock --passcode-file \(vault.passcodeFile) \(vault.path) \(point)
                }
                mount
                mkfifo ready
                unshare --mount --propagation private sh -c 'echo > ready; exec sleep 600' &
                keeper=$!
                trap 'kill $keeper' EXIT
                read -r line < ready
                umount \(point)
                status=0
                mount 2> said || status=$?
                cat said
                test $status = 1
                grep -q 'mount namespace' said
                { grep -lwF \(point) /proc/[0-9]*/mountinfo || true; } | grep -q "^/proc/$keeper/"
                trap - EXIT
                kill $keeper; wait $keeper || :
                mount
                \(Built.latchkey) unmount \(point)
                """, in: vault.folder.path, environment: vault.environment
            ).succeeded()
        }

        /// A second mount of the same vault is refused at once, and the message names the first.
        @Test func aMountedVaultIsNotWaitedFor() throws {
            try withMount(try Vault()) { mount in
                let other = try mount.vault.folder.makeFolder("other")
                let said = try mount.latchkey(["mount", mount.vault.path, other])
                #expect(said.status == 1 && said.errors.contains("mounted already, on \(mount.path)"), "\(said)")
            }
        }
    }
}

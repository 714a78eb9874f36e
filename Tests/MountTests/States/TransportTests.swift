import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// By which way requests come, and what `status` and `speed` say of it.
    @Suite struct Transports {
        private struct Report: Decodable {
            var transport: String?
            var transportReason: String?
        }

        private func report(_ mount: MountedVault) throws -> Report {
            try JSONDecoder().decode(
                Report.self, from: Data(try mount.latchkey("status", "--json", mount.path).succeeded().output))
        }

        private static let path = "/sys/module/fuse/parameters/enable_uring"
        private static let isOffered = {
            func first(_ file: String) -> Character? { (try? String(contentsOfFile: file, encoding: .utf8))?.first }
            return first(path) == "Y" && first("/proc/sys/kernel/io_uring_disabled") != "2"
        }()

        @Test func theRingIsTakenWhereItIsOffered() throws {
            let mount = try MountedVault(try Vault(), options: ["--transport", "auto"])
            let report = try report(mount)
            #expect(report.transport == (Self.isOffered ? "io_uring" : "device"))
            #expect((report.transportReason == nil) == Self.isOffered)
            let text = try mount.latchkey("status", mount.path).succeeded().text
            #expect(text.contains(Self.isOffered ? "by io_uring" : "by /dev/fuse"))
        }

        @Test func theDeviceIsTakenWhereItIsWanted() throws {
            let mount = try MountedVault(try Vault(), options: ["--transport", "device"])
            let report = try report(mount)
            #expect(report.transport == "device" && report.transportReason == "not-wanted")
        }

        /// Runs a command of this vault with a kernel that seems to have the switch like this; nil for no switch.
        private func run(switch value: String?, _ script: String, _ vault: Vault) throws -> Outcome {
            let path = Self.path
            let folder = (path as NSString).deletingLastPathComponent
            let hide =
                value.map { "echo \($0) > switch; mount --bind switch \(path)" } ?? "mount -t tmpfs none \(folder)"
            let prelude = """
                cd '\(vault.folder.path)'; mkdir -p other; latchkey='\(Built.latchkey)'
                \(hide)
                with() { "$latchkey" mount '\(vault.path)' other --unlock --passcode-file '\(vault.passcodeFile)' "$@"; }
                """
            return try attempt(
                "unshare", ["--mount", "--propagation", "private", "bash", "-euc", prelude + "\n" + script],
                environment: vault.environment)
        }

        private static let canHide = geteuid() == 0 && Disk.exists(path)

        @Test(.enabled(if: canHide), arguments: [("N", "switched-off"), (nil, "not-supported")])
        func theReasonIsTold(value: String?, reason: String) throws {
            let vault = try Vault()
            let script = """
                with
                "$latchkey" status --json other; "$latchkey" status other
                "$latchkey" unmount other
                """
            let text = try run(switch: value, script, vault).succeeded().text
            #expect(text.contains("\"transport\":\"device\"") || text.contains("\"transport\" : \"device\""), "\(text)")
            #expect(text.contains("\"\(reason)\""), "\(text)")
            #expect(text.contains("by /dev/fuse: the kernel has"), "\(text)")
            // It must have it: no mount.
            let refused = try run(switch: value, "with --transport io_uring", vault)
            #expect(refused.status == 1 && refused.errors.contains("FUSE over io_uring"), "\(refused.errors)")
        }

        /// `speed` says how it is switched on, and the command for good does so.
        @Test(.enabled(if: canHide)) func speedSaysHowToSwitchItOn() throws {
            let text = try run(switch: "N", "\"$latchkey\" speed", try Vault()).succeeded().text
            let now = "echo Y > \(Self.path)"
            #expect(text.contains("for this boot: \(now)"), "\(text)")
            let always = try #require(text.split(separator: "\n").first { $0.contains("for good:") })
            #expect(always.contains("/etc/tmpfiles.d/") || always.contains("/etc/modprobe.d/"))
            // Both commands, where they change nothing outside.
            let script = """
                mount -t tmpfs none /etc/tmpfiles.d 2>/dev/null || mkdir -p /etc/tmpfiles.d
                \(always.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces))
                if command -v systemd-tmpfiles >/dev/null && ls /etc/tmpfiles.d/fuse-io_uring.conf 2>/dev/null; then
                    systemd-tmpfiles --create /etc/tmpfiles.d/fuse-io_uring.conf
                    grep Y switch
                    echo N > switch
                fi
                \(now)
                grep Y switch
                """
            if always.contains("tmpfiles") { try run(switch: "N", script, try Vault()).succeeded() }
        }

        /// A filter of system calls forbids io_uring.
        @Test(.enabled(if: isOffered && isX86)) func aFilterIsNoObstacle() throws {
            // seccomp(2): io_uring_setup, 425, fails with EPERM; all else is allowed.
            let filter = """
                import ctypes, os, struct, sys
                code = b"".join(struct.pack("HBBI", *line) for line in (
                    (0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)))
                kept = ctypes.create_string_buffer(code)
                program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(kept)))
                libc = ctypes.CDLL(None, use_errno=True)
                assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
                os.execv(sys.argv[1], sys.argv[1:])
                """
            let mount = try MountedVault(
                try Vault(), options: ["--transport", "auto"], through: ["/usr/bin/env", "python3", "-c", filter])
            try Disk.write([1, 2, 3], to: mount.file("file"))
            let report = try report(mount)
            #expect(report.transport == "device" && report.transportReason == "forbidden")
            let text = try mount.latchkey("status", mount.path).succeeded().text
            #expect(text.contains("this system forbids io_uring"), "\(text)")
        }

        /// Writes that are refused are answered by another thread: that must not cost a thread, a slot or a descriptor
        /// for each of them.
        @Test func refusedWritesTakeNothing() throws {
            let mount = try MountedVault(try Vault())
            try Disk.write([UInt8](repeating: 7, count: 3000), to: mount.file("file"))
            try TestSupport.run(
                "setfattr", ["-n", "user.latchkey.class", "-v", "complete", mount.file("file")])
            let writer = """
                import os, sys
                file, refused = os.open(sys.argv[1], os.O_RDWR), 0
                print("open", flush=True)
                sys.stdin.readline()
                for number in range(500):
                    try: os.pwrite(file, b"x" * 100, number * 100)
                    except OSError: refused += 1
                print(refused, flush=True)
                """
            let writers = try (0..<4).map { _ in try LineProgram("python3", ["-c", writer, mount.file("file")]) }
            for program in writers { #expect(try program.line(within: 20) == "open") }
            try mount.lockNow()
            func use() throws -> [Int] {
                try ["task", "fd"].map {
                    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(mount.daemon.pid)/\($0)").count
                }
            }
            let before = try use()
            for program in writers { try program.send("go") }
            for program in writers { #expect(try program.line(within: 60) == "500") }
            let after = try use()
            #expect(after[0] <= before[0] + 8 && after[1] <= before[1] + 8, "\(before), \(after)")
            try mount.unlock()
            try mount.unmount()
        }

        /// Of control groups of version 1 or 2.
        private static let limits = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].first {
            FileManager.default.isWritableFile(atPath: $0 + "/cgroup.procs")
        }

        /// With any number of threads the daemon serves its mount, or says why it cannot: it never hangs.
        @Test(.enabled(if: geteuid() == 0 && limits != nil), arguments: [24, 32, 36, 38, 39, 40, 41, 42, 43, 46])
        func fewThreads(count: Int) throws {
            let limits = try #require(Self.limits)
            let group = "\(limits)/latchkey-test-\(getpid())"
            defer { unsafe rmdir(group) }
            let enter = """
                mkdir -p \(group)
                [ ! -e \(limits)/cgroup.subtree_control ] || echo +pids > \(limits)/cgroup.subtree_control || exit 77
                echo \(count) > \(group)/pids.max || exit 77
                echo $$ > \(group)/cgroup.procs; exec "$@"
                """
            guard let mount = try? MountedVault(try Vault(), through: ["/bin/sh", "-c", enter, "sh"]) else { return }
            try TestSupport.run("sh", ["-ec", "cd '\(mount.path)'; echo x > f; cat f; ls; rm f"], within: 20)
            try mount.unmount()
        }

        /// Requests that wait for the unlock leave the others their threads, and get their answers from many at once.
        @Test(.enabled(if: geteuid() == 0)) func fiveHundredWaitingPrograms() throws {
            let mount = try MountedVault(try Vault(), options: ["--when-locked", "freeze"])
            try Disk.write([UInt8](repeating: 7, count: 3000), to: mount.file("file"))
            try TestSupport.run(
                "setfattr", ["-n", "user.latchkey.class", "-v", "complete", mount.file("file")])
            try mount.lockNow()
            let reading = "cmp -n 3000 '\(mount.file("file"))' <(head -c 3000 /dev/zero | tr '\\0' '\\7')"
            let readers = try LineProgram(
                "bash",
                ["-c", "for i in $(seq 500); do \(reading) || echo wrong & done; echo all; wait; echo ended"])
            #expect(try readers.line(within: 60) == "all")
            let end = ContinuousClock.now + .seconds(60)
            while try mount.status().waitingRequests != 500, ContinuousClock.now < end { usleep(10_000) }
            #expect(try mount.status().waitingRequests == 500)
            #expect(try report(mount).transportReason == "freezes")
            let others = "mkdir d; ls -l; stat d; mv d e; rmdir e"
            for processor in 0..<2 {
                let words = [
                    "-ec", "cd '\(mount.path)'; taskset -c \(processor) sh -ec '\(others)' || sh -ec '\(others)'",
                ]
                try TestSupport.run("sh", words, within: 20)
            }
            try mount.unlock()
            #expect(try readers.line(within: 60) == "ended")
            #expect(try mount.status().waitingRequests == 0)
            try mount.lockNow()
            try mount.unmount()
        }
    }
}

#if arch(x86_64)
    private let isX86 = true
#else
    private let isX86 = false
#endif

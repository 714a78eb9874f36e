import Foundation
import Glibc
import Posix
import TestSupport
import Testing

extension FuseTests {
    private static let clean = "ended handles=0 descriptors=0 destroyed=1"

    @Test func unmountFreesEverything() throws {
        let mounted = try Mounted(opensRoot: false)
        try run("sh", ["-ec", "cd '\(mounted.path)'; mkdir d; echo x > d/f; cat d/f; ls -lR; mv d e; rm -r e"])
        #expect(try mounted.ask("unmount") == "done")
        #expect(try mounted.program.line(within: 10) == Self.clean)
        #expect(try mounted.program.end(within: 10) == 0)
        #expect(mounted.mountLine == nil)
    }

    @Test func aBusyMountIsNotUnmounted() throws {
        let mounted = try Mounted(opensRoot: false)
        try Descriptor.open(path: mounted.path, O_PATH).create("file", [1, 2, 3])
        var file: Descriptor? = try Descriptor.open(path: mounted.path + "/file", O_RDWR)
        #expect(try mounted.ask("unmount") == "failed EBUSY")
        #expect(mounted.mountLine != nil)
        #expect(try file?.contents(10) == [1, 2, 3])

        // A lazy unmount removes the mount, and open files still work.
        #expect(try mounted.ask("unmount lazily") == "done")
        #expect(mounted.mountLine == nil)
        try file?.write([4], at: 3)
        #expect(try mounted.source.contents(of: "file") == [1, 2, 3, 4])
        #expect(try mounted.ask("handles") == "handles 1")
        file = nil
        #expect(try mounted.program.line(within: 10) == Self.clean)
        #expect(try mounted.program.end(within: 10) == 0)
    }

    @Test func aTerminatedProcessUnmounts() throws {
        let mounted = try Mounted(opensRoot: false)
        mounted.program.process.send(SIGTERM)
        #expect(try mounted.program.line(within: 10) == Self.clean)
        #expect(try mounted.program.end(within: 10) == 0)
        #expect(mounted.mountLine == nil)
    }

    @Test func aKilledProcessFailsClosed() throws {
        let mounted = try Mounted(opensRoot: false)
        mounted.program.process.send(SIGKILL)
        mounted.program.process.wait()
        let error = #expect(throws: Errno.self) { try Descriptor.open(path: mounted.path + "/x", O_RDONLY) }
        #expect(Mounted.deathErrors.contains { $0 == error }, "\(String(describing: error))")
    }

    @Test func anInterruptedOpenLeavesNoHandle() throws {
        let mounted = try Mounted()
        try mounted.root.create("file", [1])
        #expect(try mounted.ask("delay-open 600") == "done")
        let reader = try LineProgram("cat", [mounted.path + "/file"])
        usleep(200_000)
        // It sleeps in open(2); the answer arrives after the signal that kills it.
        reader.process.send(SIGTERM)
        #expect(try reader.end(within: 10) == 128 + SIGTERM)
        try mounted.wait(for: "handles 0", to: "handles")
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to abort a connection"))
    func anAbortedConnectionLeavesNoHandle() throws {
        let mounted = try Mounted(opensRoot: false)
        try mounted.source.create("file", [1])
        #expect(try mounted.ask("delay-open 600") == "done")
        let reader = try LineProgram("cat", [mounted.path + "/file"])
        usleep(200_000)
        // The answer to the open arrives after its caller has gone; `run` waits for it.
        #expect(try mounted.ask("abort") == "done")
        #expect(try reader.end(within: 10) == 1)
        #expect(try mounted.program.line(within: 10) == Self.clean)
        #expect(try mounted.program.end(within: 10) == 0)
        #expect(mounted.mountLine == nil)
    }

    @Test func mountsWithTheUsualOptions() throws {
        let plain = try Mounted()
        let line = try #require(plain.mountLine)
        #expect(line[5].split(separator: ",").contains("nosuid") && line[5].split(separator: ",").contains("nodev"))
        #expect(line.contains("fuse.passthrough"))

        let other = try Mounted(options: ["ro", "noexec", "suid", "dev", "fsname=the name", "allow_other"])
        let flags = try #require(other.mountLine)[5].split(separator: ",")
        #expect(flags.contains("ro") && flags.contains("noexec"))
        if geteuid() == 0 { #expect(!flags.contains("nosuid") && !flags.contains("nodev")) }
        #expect(try #require(other.mountLine).contains("the\\040name"))
        #expect(throws: Errno.EROFS) { try other.root.create("file") }
    }

    @Test func saysWhyAMountFails() throws {
        let folder = try TemporaryFolder()
        let missing = try LineProgram(Built.passthrough, [folder.path, folder.path + "/nowhere"])
        #expect(try missing.line(within: 10).contains("nowhere: No such file or directory"))
        #expect(try missing.end(within: 10) == 1)
        let unknown = try LineProgram(Built.passthrough, ["-o", "nonsense", folder.path, folder.path])
        #expect(try unknown.line(within: 10).contains("unknown option(s): `-o nonsense'"))
        #expect(try unknown.end(within: 10) == 1)
    }

    /// In a mount namespace in which every user may open the device.
    @Test(.enabled(if: geteuid() == 0, "needs root, to become another user"))
    func anOrdinaryUserMountsThroughFusermount() throws {
        let folder = try TemporaryFolder()
        for name in ["device", "source", "mount"] { _ = try folder.makeFolder(name, mode: 0o777) }
        let script = """
            set -e
            cd '\(folder.path)'
            mount --make-rprivate /
            mount -t tmpfs none device
            mknod -m 666 device/fuse c 10 229
            mount --bind device/fuse /dev/fuse
            cp '\(Built.passthrough)' device/passthrough
            chown 65534:65534 source mount
            exec setpriv --reuid=65534 --regid=65534 --clear-groups device/passthrough -o noexec source mount
            """
        let program = try LineProgram("unshare", ["-m", "sh", "-c", script])
        let greeting = try program.line(within: 20)
        #expect(greeting.hasPrefix("mounted"), "\(greeting)")
        let table = String(
            decoding: try Data(contentsOf: URL(filePath: "/proc/\(program.process.pid)/mountinfo")), as: UTF8.self)
        let line = table.split(separator: "\n").first { $0.contains("fuse.passthrough") }
        let flags = try #require(line).split(separator: " ")[5].split(separator: ",")
        #expect(Set(flags).isSuperset(of: ["nosuid", "nodev", "noexec"]))
        try program.send("unmount")
        #expect(try program.line(within: 10) == "done")
        #expect(try program.line(within: 10) == Self.clean)
    }
}

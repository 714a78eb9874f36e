import Foundation
import Glibc
import TestSupport

/// A disk of its own with an ext4 file system, which can lose its power: a loop device over an image.
///
/// A crash loses what the kernel has not written to the device, since that is not in the image.
final class LoopDisk {
    /// Where its file system is mounted.
    let path: String
    private let folder: TemporaryFolder
    private let hasJournal: Bool
    var image: String { folder.path("image") }

    /// Needs root and a kernel with loop devices.
    static let isAvailable: Bool = {
        guard geteuid() == 0, let disk = try? LoopDisk() else { return false }
        return (try? disk.unmount()) != nil
    }()

    /// - Parameter options: of mkfs.ext4.
    init(size: String = "128M", options: [String] = []) throws {
        folder = try TemporaryFolder()
        hasJournal = !options.contains("^has_journal")
        path = try folder.makeFolder("disk")
        // No larger than the load needs: it is copied at each crash.
        try run("truncate", ["-s", size, folder.path("image")]).succeeded()
        try run(
            "mkfs.ext4", ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"] + options + [folder.path("image")]
        ).succeeded()
        try mount()
        try run("rmdir", [path + "/lost+found"]).succeeded()
    }

    deinit { unsafe umount2(path, Int32(MNT_DETACH)) }

    /// ext4 writes its metadata when a program syncs, and hardly ever by the clock: an image that is copied during a
    /// write would mix two moments.
    private func mount() throws {
        try run("mount", ["-o", hasJournal ? "loop,commit=600" : "loop", image, path]).succeeded()
    }

    private func unmount() throws { try run("umount", [path]).succeeded() }

    /// Simulates a power loss of a machine that runs this daemon: stops it between two calls, runs `body`, and gives
    /// the disk the state of that moment. Then `end` must close everything that is open on the disk.
    func losePower(under daemon: Child, _ body: () throws -> Void, end: () throws -> Void) throws {
        daemon.send(SIGSTOP)
        try waitUntilStopped(daemon.pid)
        try run("cp", ["--sparse=always", image, image + ".crash"]).succeeded()
        try body()
        try end()
        try unmount()
        try run("mv", [image + ".crash", image]).succeeded()
        try mount()
    }

    /// A thread in a system call stops when the call is done.
    private func waitUntilStopped(_ process: pid_t) throws {
        let threads = "/proc/\(process)/task"
        let end = ContinuousClock.now + .seconds(20)
        while true {
            let states = try FileManager.default.contentsOfDirectory(atPath: threads).map { thread in
                // The field before it is the program's name, which may hold any byte.
                try String(contentsOfFile: "\(threads)/\(thread)/stat", encoding: .utf8)
                    .split(separator: ")").last?.split(separator: " ").first
            }
            if states.allSatisfy({ $0 == "T" }) { return }
            guard ContinuousClock.now < end else { throw HarnessError("the daemon does not stop: \(states)") }
            usleep(1000)
        }
    }
}

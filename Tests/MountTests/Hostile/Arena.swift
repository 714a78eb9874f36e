import Foundation
import Glibc
import Tampering
import TestSupport

/// Where a hostile vault is used: a folder with the vault, the targets of its links, and nothing that may change.
final class Arena {
    /// The disk space that a vault may use: its own contents, and a journal, which does not grow on such a disk.
    static let largest: Int64 = 96 << 20

    let folder: TemporaryFolder
    let scene: HostileScene
    let backing: BackingFolder
    let vault: Vault
    private let base: String
    private let deviceKey: [UInt8]
    private let hasDisk: Bool
    /// KiB that a command or daemon may take.
    var mostMemory = 0

    var outside: String { base + "/outside" }
    var deviceKeyFile: String { folder.path("device.key") }
    var point: String { folder.path("mount") }

    init() throws {
        folder = try TemporaryFolder()
        base = try folder.makeFolder("disk")
        // A disk of its own, so that filling it harms nothing else.
        hasDisk = unsafe mount("none", base, "tmpfs", 0, "size=256m") == 0
        let outside = base + "/outside"
        scene = try HostileScene(outside: outside)
        backing = try BackingFolder(in: base)
        deviceKey = try Disk.read(scene.tampering.keyPath)
        vault = try Vault(at: backing.path, passcode: TamperScene.passcode)
        unsafe mkdir(folder.path("mount"), 0o755)
    }

    deinit {
        unsafe umount2(point, Int32(MNT_DETACH))
        _ = try? run("find", [backing.path, "-mindepth", "1", "-delete"])
        if hasDisk { unsafe umount2(base, Int32(MNT_DETACH)) }
    }

    /// Puts a vault into the arena, with fresh keys and bait.
    func hold(_ hostile: HostileVault) throws {
        // Folders can be nested deeper than the stack allows for a recursion.
        try run("find", [backing.path, "-mindepth", "1", "-delete"]).succeeded()
        try backing.hold(BackingImage(), afresh: true)
        try? FileManager.default.removeItem(atPath: outside)
        for (name, bytes) in HostileScene.bait {
            let path = outside + "/" + name
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Disk.write(bytes, to: path)
        }
        try Disk.write(deviceKey, to: deviceKeyFile)
        unsafe unlink(deviceKeyFile + ".tries")
        try backing.hold(hostile.image)
        for (name, target) in hostile.hardLinks {
            guard unsafe link(outside + "/" + target, backing.path + "/" + name) == 0 else {
                throw HarnessError("link \(name): errno \(errno)")
            }
        }
        for (name, size) in hostile.sizes { unsafe truncate(backing.path + "/" + name, Int(size)) }
        for (name, seconds) in hostile.times {
            let times = [timespec(tv_sec: Int(seconds), tv_nsec: 0), timespec(tv_sec: Int(seconds), tv_nsec: 0)]
            unsafe utimensat(AT_FDCWD, backing.path + "/" + name, times, AT_SYMLINK_NOFOLLOW)
        }
        for (name, depth) in hostile.depths {
            let path = "\(backing.path)/\(name)" as NSString
            try run(
                "python3",
                [
                    "-c",
                    "import os, sys\nfor _ in range(int(sys.argv[2])): os.mkdir(sys.argv[1]); os.chdir(sys.argv[1])",
                ]
                    + [path.lastPathComponent, "\(depth)"], directory: path.deletingLastPathComponent
            ).succeeded()
        }
    }

    /// Everything on the disk outside of the vault, with all its metadata.
    func surroundings() throws -> [String: String] {
        var found: [String: String] = [:]
        for path in ["outside"] + Disk.tree(outside).map({ "outside/" + $0 }) {
            var status = stat()
            guard unsafe lstat(base + "/" + path, &status) == 0 else {
                throw HarnessError("lstat \(path): errno \(errno)")
            }
            let contents = status.st_mode & S_IFMT == S_IFREG ? Self.digest(try Disk.read(base + "/" + path)) : ""
            found[path] =
                "inode \(status.st_ino) mode \(status.st_mode) owner \(status.st_uid):\(status.st_gid) "
                + "times \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(contents)"
        }
        found["/"] = "\(try FileManager.default.contentsOfDirectory(atPath: base).sorted())"
        return found
    }

    /// A checksum that shows a change, and the contents themselves if they are short.
    private static func digest(_ bytes: [UInt8]) -> String {
        var hasher = Hasher()
        hasher.combine(bytes)
        return
            "\(bytes.count) bytes, \(hasher.finalize()), "
            + "\(String(decoding: bytes.prefix(40), as: UTF8.self).debugDescription)"
    }

    /// Bytes that the whole vault takes on the disk.
    func size() throws -> Int64 {
        let words = try run("du", ["-s", "--block-size=1", backing.path]).text.split(separator: "\t")
        return words.first.flatMap { Int64($0) } ?? .max
    }
}

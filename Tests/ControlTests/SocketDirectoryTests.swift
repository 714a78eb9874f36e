import Failure
import Foundation
import Glibc
import Posix
import TestSupport
import Testing

@testable import Control

@Suite struct SocketDirectoryTests {
    @Test func `mounts are found by path, by vault and by volume`() throws {
        let inside = NSTemporaryDirectory()
        var status = stat()
        unsafe stat(inside, &status)
        let byPath = try ServedFolder(device: UInt64(status.st_dev))
        #expect(try SocketDirectories([byPath.directory]).mount(of: Path(inside))?.status.volume == ServedFolder.volume)
        #expect(try SocketDirectories([byPath.directory]).mount(of: "/proc") == nil)
        #expect(throws: Failure.socket(.ENOENT, doing: "look at /nowhere")) {
            try SocketDirectories([byPath.directory]).mount(of: "/nowhere")
        }

        let byVault = try ServedFolder(device: .max, vault: "/proc/self")
        #expect(
            try SocketDirectories([byVault.directory]).mount(of: "/proc/self/../self")?.status.vault == "/proc/self")
        #expect(try SocketDirectories([byVault.directory]).mount(of: "/proc") == nil)
        #expect(SocketDirectories([byVault.directory]).mount(volume: ServedFolder.volume) != nil)
        #expect(SocketDirectories([byVault.directory]).mount(volume: "00") == nil)
        #expect(SocketDirectories([byVault.directory]).mounts().count == 1)
    }

    /// The process may end between two questions.
    @Test func `a daemon is asked once`() throws {
        var status = stat()
        unsafe stat("/proc", &status)
        let folder = try ServedFolder(device: UInt64(status.st_dev))
        let directories = SocketDirectories([folder.directory])
        #expect(directories.mount(volume: ServedFolder.volume) != nil)
        #expect(folder.service.questions == 1)
        #expect(directories.mount(device: UInt64(status.st_dev)) != nil)
        #expect(folder.service.questions == 2)
    }

    @Test func `a volume is served once`() throws {
        let folder = try ServedFolder()
        let service = folder.service
        #expect(throws: Failure.alreadyServed(socket: Path(folder.server.path))) {
            try ControlServer(
                service: service, volume: ServedFolder.volume, in: folder.directory, version: "1.0")
        }
        #expect(try folder.client().status().state == .beforeFirstUnlock)
    }

    @Test func `the socket of a dead daemon is removed and blocks no other daemon`() throws {
        let folder = try ServedFolder()
        let dead = folder.directory.socket(volume: "dead")
        _ = try listen(at: dead)
        #expect(FileManager.default.fileExists(atPath: dead))
        #expect(SocketDirectories([folder.directory]).mounts().count == 1)
        #expect(!FileManager.default.fileExists(atPath: dead))

        _ = try listen(at: dead)
        let server = try ControlServer(service: folder.service, volume: "dead", in: folder.directory, version: "1.0")
        try server.start()
        #expect(SocketDirectories([folder.directory]).mounts().count == 2)
        server.stop()
    }

    @Test func `links of killed daemons lead to no mount, and later mounts remove them`() throws {
        let folder = try ServedFolder(device: 7)
        let manager = FileManager.default
        func links() -> [String] {
            SocketDirectories.names(in: folder.directory.path).filter { $0.hasPrefix("device-") }
        }
        func leave(_ device: UInt64, to volume: String, socket: Bool) throws {
            try manager.createSymbolicLink(
                atPath: folder.directory.link(device: device), withDestinationPath: "\(volume).socket")
            if socket { _ = try listen(at: folder.directory.socket(volume: volume)) }
        }
        // The link of a killed daemon; one whose socket has gone; and one that leads to a volume mounted elsewhere by
        // now.
        try leave(8, to: "dead", socket: true)
        try leave(9, to: "gone", socket: false)
        try leave(10, to: ServedFolder.volume, socket: false)
        let all = SocketDirectories([folder.directory])
        for device in [8, 9, 10] as [UInt64] { #expect(all.mount(device: device) == nil, "\(device)") }
        #expect(all.mount(device: 7)?.status.volume == ServedFolder.volume)

        try leave(11, to: "dead", socket: true)
        let service = TestService(volume: "next", device: 9, vault: "/next")
        let server = try ControlServer(
            service: service, volume: "next", device: 9, in: folder.directory, version: "1.0")
        try server.start()
        #expect(links() == ["device-10", "device-7", "device-9"])
        #expect(all.mount(device: 9)?.status.vault == "/next", "the number is another mount's now")
        #expect(!manager.fileExists(atPath: folder.directory.socket(volume: "dead")))
        server.stop()
        folder.server.stop()
        // When the volume is mounted again, no link of its own old mounts stays.
        let again = try ControlServer(
            service: folder.service, volume: ServedFolder.volume, device: 12, in: folder.directory, version: "1.0")
        try again.start()
        #expect(links() == ["device-12"])
        again.stop()
        #expect(links() == [])
    }

    @Test func `root does not take another user's daemon for a mount's own`() throws {
        let folder = try ServedFolder(device: 7)
        let all = SocketDirectories([folder.directory])
        #expect(all.mount(device: 7, of: geteuid()) != nil)
        #expect(all.mount(device: 7, of: geteuid() + 1) == nil)
        #expect(all.mount(device: 7) != nil)
    }

    @Test func `another user's folder, an open one and a link are not used`() throws {
        guard geteuid() == 0 else { return }
        let folder = try TemporaryFolder()
        func refused(_ path: String) -> Bool {
            do throws(Failure) {
                _ = try SocketDirectory(path: path).publish(volume: "v", device: 1)
                return false
            } catch { return error == .unsafeDirectory(path: path) }
        }
        let own = folder.path + "/own"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
        unsafe chmod(own, 0o700)
        for mode in [0o701, 0o710, 0o770, 0o755, 0o777] as [mode_t] {
            unsafe chmod(own, mode)
            #expect(refused(own), "\(String(mode, radix: 8))")
        }
        unsafe chmod(own, 0o700)
        // As an attacker prepares them: a folder of his own, a link to the user's own, a dangling link, a file.
        unsafe chown(own, 65_534, 65_534)
        #expect(refused(own))
        unsafe chown(own, 0, 0)
        let link = folder.path + "/link"
        unsafe symlink(own, link)
        #expect(refused(link))
        unsafe symlink(folder.path + "/nothing", folder.path + "/dangling")
        #expect(refused(folder.path + "/dangling"))
        _ = FileManager.default.createFile(atPath: folder.path + "/file", contents: nil)
        #expect(refused(folder.path + "/file"))
        #expect(!refused(own))
        #expect(SocketDirectories.names(in: own).suffix(2) == ["device-1", "v.socket"])
    }

    @Test func `a daemon that hangs is not asked for a mount that another serves`() throws {
        let inside = NSTemporaryDirectory()
        var status = stat()
        unsafe stat(inside, &status)
        let device = UInt64(status.st_dev)
        let folder = try ServedFolder(device: device)
        // It accepts connections and never answers. It is asked first, since its name sorts first.
        let hanging = try listen(at: folder.directory.socket(volume: "00"))
        let link = folder.directory.link(device: device)
        #expect(try SocketDirectories([folder.directory]).mount(of: Path(inside))?.status.volume == ServedFolder.volume)
        var pending = [pollfd(fd: hanging.number, events: Int16(POLLIN), revents: 0)]
        #expect(unsafe poll(&pending, 1, 0) == 0, "no client has connected to it")

        folder.directory.withdraw(volume: "other", device: device)
        #expect(FileManager.default.fileExists(atPath: link))
        folder.server.stop()
        #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == nil)
    }

    @Test func `a daemon that hangs does not hide the others`() throws {
        let folder = try ServedFolder()
        let hanging = try listen(at: folder.directory.socket(volume: "hanging"))
        #expect(SocketDirectories([folder.directory]).mounts().count == 1)
        #expect(try folder.directory.sockets().count == 2)
        withExtendedLifetime(hanging) {}
    }

    /// Root's lock reaches all users' daemons, however many sockets one of them makes that do not answer.
    @Test(.enabled(if: geteuid() == 0, "other users are needed")) func `no user comes before another`() throws {
        let folders = try (0..<3).map { _ in try SocketDirectory.temporary() }
        defer { for folder in folders { try? FileManager.default.removeItem(atPath: folder.path) } }
        for (index, names) in [["x0"], (0..<20).map { "a\(10 + $0)" }, ["b0", "b1"]].enumerated() {
            for name in names { try Disk.write([], to: folders[index].socket(volume: name)) }
            #expect(unsafe chown(folders[index].path, uid_t(index) * 1000, 0) == 0)
        }
        let others = [1000, 2000].map { SocketDirectory(path: folders[$0 / 1000].path, owner: UInt32($0)) }
        let names = SocketDirectories(others + [folders[0]]).sockets.map { ($0.path as NSString).lastPathComponent }
        #expect(names.prefix(6) == ["x0", "a10", "b0", "a11", "b1", "a12"].map { $0 + ".socket" }[...])
        #expect(names.count == 23)
    }

    @Test func `a folder that others may enter is refused`() throws {
        let directory = try SocketDirectory.temporary()
        defer { try? FileManager.default.removeItem(atPath: directory.path) }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        #expect(throws: Failure.unsafeDirectory(path: directory.path)) { try directory.sockets() }
        #expect(throws: Failure.unsafeDirectory(path: "/proc/self")) {
            try SocketDirectory(path: "/proc/self").publish(volume: "00", device: nil)
        }
        #expect(SocketDirectories([SocketDirectory(path: "/nowhere/at/all")]).mounts().isEmpty)
    }

    @Test func `a name in tmp tells whose folder it is`() {
        #expect(SocketDirectory.owner(ofTemporary: "latchkey-1000") == 1000)
        #expect(SocketDirectory.owner(ofTemporary: "latchkey-1000.7") == 1000)
        for name in ["latchkey-", "latchkey-x", "latchkey-1000.", "latchkey-1000.x", "latchkey-1.2.3", "other-1000"] {
            #expect(SocketDirectory.owner(ofTemporary: name) == nil)
        }
    }
}

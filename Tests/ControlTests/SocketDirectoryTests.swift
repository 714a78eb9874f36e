import Foundation
import Glibc
import Posix
import Testing

@testable import Control

@Suite struct SocketDirectoryTests {
    @Test func `mounts are found by path, by vault and by volume`() throws {
        let inside = NSTemporaryDirectory()
        var status = stat()
        unsafe stat(inside, &status)
        let byPath = try ServedFolder(device: UInt64(status.st_dev))
        #expect(try SocketDirectories([byPath.directory]).mount(of: inside)?.status.volume == ServedFolder.volume)
        #expect(try SocketDirectories([byPath.directory]).mount(of: "/proc") == nil)
        #expect(throws: ControlError.io(.ENOENT, doing: "look at /nowhere")) {
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

    @Test func `a volume is served once`() throws {
        let folder = try ServedFolder()
        let service = folder.service
        #expect(throws: ControlError.alreadyServed(socket: folder.server.path)) {
            try ControlServer(
                service: service, volume: ServedFolder.volume, in: folder.directory, version: "1.0")
        }
        #expect(try folder.client().status().state == .beforeFirstUnlock)
    }

    @Test func `the socket of a dead daemon is removed, and in nobody's way`() throws {
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

    @Test func `a daemon that hangs is not asked for a mount that another serves`() throws {
        let inside = NSTemporaryDirectory()
        var status = stat()
        unsafe stat(inside, &status)
        let device = UInt64(status.st_dev)
        let folder = try ServedFolder(device: device)
        // It takes clients in, and never answers; asked first, since its name sorts first.
        let hanging = try listen(at: folder.directory.socket(volume: "00"))
        let link = folder.directory.link(device: device)
        #expect(try SocketDirectories([folder.directory]).mount(of: inside)?.status.volume == ServedFolder.volume)
        var pending = [pollfd(fd: hanging.number, events: Int16(POLLIN), revents: 0)]
        #expect(unsafe poll(&pending, 1, 0) == 0, "nobody has connected to it")

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

    @Test func `a folder that others may enter is refused`() throws {
        let directory = try SocketDirectory.temporary()
        defer { try? FileManager.default.removeItem(atPath: directory.path) }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        #expect(throws: ControlError.unsafeDirectory(path: directory.path)) { try directory.sockets() }
        #expect(throws: ControlError.unsafeDirectory(path: "/proc/self")) {
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

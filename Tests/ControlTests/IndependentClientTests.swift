import Foundation
import TestSupport
import Testing

@testable import Control

/// Clients without any of our code: Python's socket module, and the `varlink` package from PyPI.
@Suite(.timeLimit(.minutes(10))) struct IndependentClientTests {
    /// Runs a script with the socket's path in SOCKET. Returns what it printed, or nil if Python cannot run it.
    private static func python(_ script: String, socket: String = "") -> String? {
        let environment = ProcessInfo.processInfo.environment.merging(["SOCKET": socket]) { $1 }
        return try? run("python3", ["-c", script], environment: environment).text
    }

    /// A folder whose path is short enough for the socket addresses of every client.
    private func served() throws -> (ServedFolder, link: String) {
        let folder = try ServedFolder()
        let link = "/tmp/latchkey-\(UUID().uuidString)"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.directory.path)
        return (folder, link)
    }

    @Test(.enabled(if: python("import varlink") != nil, "the package varlink is missing: pip install varlink"))
    func `the varlink package reads the interface and calls it`() throws {
        let (folder, link) = try served()
        defer { try? FileManager.default.removeItem(atPath: link) }
        let printed = Self.python(
            """
            import os, varlink
            client = varlink.Client.new_with_address("unix:" + os.environ["SOCKET"])
            print(client.get_interface("io.latchkey").name)
            with client.open("io.latchkey") as mount:
                print(mount.Status()["status"]["state"])
                print(mount.Lock(now=True)["status"]["state"])
                try:
                    mount.Unmount()
                except varlink.VarlinkError as error:
                    print(error.error())
                for reply in mount.Monitor(_more=True):
                    print(reply["status"]["state"])
                    last = reply["status"]
                    break
            with client.open("io.latchkey") as mount:
                mount.Lock()
                mount.Lock(now=True)
            with client.open("io.latchkey") as mount:
                changes = mount.Monitor(since=last["sequence"], instance=last["instance"], _more=True)
                for reply in changes:
                    print(reply["status"]["sequence"] - last["sequence"], reply["event"])
                    if reply["status"]["state"] == "locked":
                        break
            """, socket: "\(link)/\(ServedFolder.volume).socket")
        #expect(
            printed == "io.latchkey\nbefore-first-unlock\nlocked\nio.latchkey.Busy\nlocked\n"
                + "1 will-become-unavailable\n2 did-become-unavailable\n")
        withExtendedLifetime(folder) {}
    }

    @Test(.enabled(if: python("import socket; socket.send_fds") != nil, "Python 3.9 or later is missing"))
    func `a passcode can be handed over from python`() throws {
        let (folder, link) = try served()
        defer { try? FileManager.default.removeItem(atPath: link) }
        let printed = Self.python(
            """
            import json, os, socket
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(os.environ["SOCKET"])
            reading, writing = os.pipe()
            os.write(writing, b"correct horse")
            os.close(writing)
            call = {"method": "io.latchkey.Unlock", "parameters": {"secret": 0}}
            socket.send_fds(daemon, [json.dumps(call).encode() + bytes(1)], [reading])
            reply = b""
            while not reply.endswith(bytes(1)):
                reply += daemon.recv(4096)
            print(json.loads(reply[:-1])["parameters"]["status"]["state"])
            """, socket: "\(link)/\(ServedFolder.volume).socket")
        #expect(printed == "unlocked\n")
        withExtendedLifetime(folder) {}
    }
}

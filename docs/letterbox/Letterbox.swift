import DataProtection
import Foundation

/// Files each line of its input as a letter in a folder of a Latchkey mount, whether that is locked or not.
///
///     letterbox FOLDER
///
/// A letter is on the disk when its line is answered; one that comes while the folder is locked is raised to `complete`
/// at the next unlock. A line that begins with "!" is for nobody but who can unlock: until then it waits in memory.
@main
struct Letterbox {
    static func main() async {
        guard CommandLine.arguments.count == 2 else { end("usage: letterbox FOLDER", status: 2) }
        let folder = URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true)
        do {
            try await Letterbox(folder: folder).run()
        } catch {
            end("letterbox: \(error)", status: 1)
        }
    }

    private let folder: URL
    private let protectedData: ProtectedData
    private let secrets: ProtectedDataBuffer

    private init(folder: URL) {
        self.folder = folder
        protectedData = ProtectedData(at: folder)
        secrets = ProtectedDataBuffer(for: protectedData)
    }

    private func run() async throws {
        // Before the first look, so that no change falls between; and it throws where nothing is protected.
        let notifications = try protectedData.notifications()
        say(try protectedData.isProtectedDataAvailable ? "protected data is available" : "protected data is locked")
        try FileManager.default.upgradeProtectionUnlessLocked(in: folder)
        let watching = Task {
            for try await notification in notifications {
                say(notification.rawValue)
                if notification == .didBecomeAvailable { try await catchUp() }
            }
        }
        var number = 0
        for await line in Self.lines {
            number += 1
            try await file(line, at: folder.appendingPathComponent("letter-\(number)"))
        }
        let left = await secrets.pending.count
        if left > 0 { say("\(left) secret letters are lost with this process") }
        watching.cancel()
    }

    private func file(_ line: String, at letter: URL) async throws {
        if line.hasPrefix("!") {
            let isWritten = try await secrets.write(Data(line.dropFirst().utf8), to: letter)
            say("\(letter.lastPathComponent): \(isWritten ? "written" : "waits in memory")")
        } else {
            let protection = try Data(line.utf8).writeWithBestProtection(to: letter)
            say("\(letter.lastPathComponent): \(protection.rawValue)")
        }
    }

    private func catchUp() async throws {
        do {
            try await secrets.flush()
            let raised = try FileManager.default.upgradeProtection(in: folder).upgraded
            say("raised \(raised.count)")
        } catch DataProtectionError.locked {
            // It was locked again meanwhile; the next time will do.
        }
    }

    /// Standard input, read by a thread of its own: a task that waited for it would hold one of the few that run tasks.
    private static var lines: AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}

extension FileManager {
    /// What an earlier run has left.
    fileprivate func upgradeProtectionUnlessLocked(in folder: URL) throws {
        do { try upgradeProtection(in: folder) } catch DataProtectionError.locked {}
    }
}

private func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

private func end(_ message: String, status: Int32) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(status)
}

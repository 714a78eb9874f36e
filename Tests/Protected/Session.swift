import DataProtection
import Format
import Foundation

/// What lasts from one command to the next.
struct Session {
    private var notifications: ProtectedDataNotifications.AsyncIterator?
    private var buffer: ProtectedDataBuffer?
    private var run: Task<Void, any Error>?
    private let activity = RecordedActivity()

    mutating func perform(_ command: String, _ words: [String]) async throws -> String {
        switch command {
        case "class":
            return try url(words[0]).fileProtection?.rawValue ?? "nil"
        case "setclass":
            try url(words[1]).setFileProtection(FileProtectionType(rawValue: words[0]))
            return ""
        case "write":
            try data(words[2]).write(to: url(words[1]), protection: FileProtectionType(rawValue: words[0]))
            return ""
        case "best":
            return try data(words[1]).writeWithBestProtection(to: url(words[0])).rawValue
        case "upgrade":
            let done = try FileManager.default.upgradeProtection(in: url(words[0]))
            let names = done.upgraded.map(\.lastPathComponent) + done.failures.keys.map { "!" + $0.lastPathComponent }
            return names.sorted().joined(separator: " ")
        case "available":
            return try "\(ProtectedData(at: url(words[0])).isProtectedDataAvailable)"
        case "listen":
            notifications = try ProtectedData(at: url(words[0])).notifications().makeAsyncIterator()
            return ""
        case "next":
            return try await notifications?.next()?.rawValue ?? "end"
        case "deafen":
            notifications = nil
            return ""
        case "activity":
            activity.begin(ProtectedData(at: url(words[0])), .seconds(Int(words[1]) ?? 0))
            return ""
        case "calls":
            return activity.calls(Int(words[0]) ?? 0)
        case "finish":
            activity.finish()
            return ""
        case "connections":
            // The runtime opens descriptors of its own at any time; none of them is a socket.
            let links = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .map { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
            return "\(links.count { $0?.hasPrefix("socket:") == true })"
        default:
            return try await performOnBuffer(command, words)
        }
    }

    private mutating func performOnBuffer(_ command: String, _ words: [String]) async throws -> String {
        if command == "buffer" {
            buffer = ProtectedDataBuffer(for: ProtectedData(at: url(words[0])))
            return ""
        }
        guard let buffer else { return "no buffer" }
        switch command {
        case "keep":
            return try await buffer.write(data(words[1]), to: url(words[0])) ? "written" : "pending"
        case "pending":
            let names = await buffer.pending.map { "\($0.url.lastPathComponent):\($0.data.count)" }
            return (names + ["\(await buffer.pendingByteCount)"]).joined(separator: " ")
        case "flush":
            try await buffer.flush()
            return ""
        case "take":
            return "\(await buffer.takePending().count)"
        case "run":
            run = Task { try await buffer.run() }
            return ""
        case "cancel":
            run?.cancel()
            return ""
        case "ran":
            try await run?.value
            return ""
        default:
            return "unknown command"
        }
    }

    private func url(_ path: String) -> URL {
        URL(fileURLWithPath: path)
    }

    private func data(_ hexadecimal: String) -> Data {
        Data([UInt8](hexadecimal: hexadecimal) ?? [])
    }
}

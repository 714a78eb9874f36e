import ArgumentParser
import Control
import Format

/// `latchkey status`: what a mount, or every mount, holds in memory.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show lock state, keys and open files of a mount, or of all.",
        discussion: """
            With --json: an object for DIR, else a list of them. Fields: state (before-first-unlock, unlocked, \
            locking, locked), graceRemaining (seconds, only while locking), deadline (seconds since 1970, only while \
            locking), classKeys (names), openFiles (number by class), fileKeysInMemory, mountPoint, vault, volume, \
            device, deviceKey, grace (seconds), readOnly, version, formatVersion, pid. Fields may be added.
            """)

    @Flag(help: "Write JSON.")
    var json = false

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault; without it, all mounts.", valueName: "dir"))
    var place: String?

    func run() throws {
        if let place {
            let status = try Place.mount(of: place).status
            Standard.output(json ? try JSON.text(status) : StatusReport(status).text)
            return
        }
        let all = try Place.served().map(\.status)
        if json {
            Standard.output(try JSON.text(all))
        } else if all.isEmpty {
            Standard.output("No vault is mounted.\n  try: latchkey mount VAULT DIR")
        } else {
            Standard.output(all.map { StatusReport($0).text }.joined(separator: "\n\n"))
        }
    }
}

/// The status of one mount for people.
struct StatusReport {
    private let status: Control.Status

    init(_ status: Control.Status) { self.status = status }

    var text: String {
        var table = Table()
        table.add("state", state)
        table.add("vault", status.vault + (status.readOnly ? " (read-only)" : ""))
        table.add("class keys", status.classKeys.isEmpty ? "none in memory" : letters(status.classKeys))
        table.add("open files", openFiles)
        table.add("file keys", status.fileKeysInMemory == 0 ? "none in memory" : "\(status.fileKeysInMemory) in memory")
        table.add("grace", Clock.seconds(status.grace))
        table.add("device key", deviceKey)
        table.add("volume", status.volume)
        table.add("daemon", "process \(status.pid), latchkey \(status.version), format \(status.formatVersion)")
        return status.mountPoint + "\n" + table.lines(indent: 2)
    }

    private var state: String {
        switch status.state {
        case .beforeFirstUnlock: "before the first unlock: only class D can be read"
        case .unlocked: "unlocked"
        case .locking:
            if let left = status.graceRemaining, left > 0 {
                "locking: the keys will be gone in \(Clock.seconds(left))"
            } else {
                "locking: the keys are being taken out"
            }
        case .locked: "locked: A and closed files of B are ciphertext"
        }
    }

    private var openFiles: String {
        let counts = ProtectionClass.allCases.compactMap { kind in
            status.openFiles[kind.name].flatMap { $0 > 0 ? "\(kind.letter): \($0)" : nil }
        }
        return counts.isEmpty ? "none" : counts.joined(separator: ", ")
    }

    private var deviceKey: [String] {
        guard status.deviceKey == "software" else { return [status.deviceKey] }
        return [
            "software: a file, no secret from a thief of the whole disk,",
            "who then reads names, sizes, extended attributes and class D",
        ]
    }

    private func letters(_ names: [String]) -> String {
        names.compactMap { ProtectionClass(attributeValue: $0)?.letter }.sorted().joined(separator: " ")
    }
}

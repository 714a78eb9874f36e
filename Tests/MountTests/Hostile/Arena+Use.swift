import Foundation
import Glibc
import Tampering
import TestSupport

extension Arena {
    /// The limit for the memory of a command or daemon, in KiB.
    private static let memory = 768 << 10
    private static let costlyMemory = 6 << 20

    /// Everything that a user does with a vault of unknown origin; throws if a program does what no vault may cause.
    func use(_ hostile: HostileVault) throws {
        mostMemory = hostile.isCostly ? Self.costlyMemory : Self.memory
        for isRepairedFirst in [false, true] {
            try hold(hostile)
            let before = try surroundings()
            let seconds: Double = hostile.isCostly ? 120 : 40
            if isRepairedFirst {
                try command(["fsck", "--repair", "--salvage"] + secrets + [vault.path], within: seconds)
                try command(["fsck"] + secrets + [vault.path], within: seconds)
                try mounted(["-o", "ro"], within: seconds) { try look("look") }
                try command(
                    ["passwd", "--passcode-file", vault.passcodeFile, "--new-passcode-file", newPasscode]
                        + ["--device-key", deviceKeyFile, vault.path], within: seconds)
                // EraseTests cover the erasing of a deep tree.
                let files = hostile.depths.isEmpty ? ["--files"] : []
                try command(
                    ["erase", "--yes"] + files + ["--device-key", deviceKeyFile, vault.path], within: seconds)
            } else {
                try command(["slot", "list", "--device-key", deviceKeyFile, vault.path], within: seconds)
                try command(["fsck"] + secrets + [vault.path], within: seconds)
                try readVault(within: seconds)
                try mounted([], isExpected: hostile.isMountable, within: seconds) {
                    try look("use")
                    try command(["status", vault.path], within: 20)
                    try command(["lock", "--now", "--wait", point], within: 20)
                    try look("look")
                    try command(["unlock", "--passcode-file", vault.passcodeFile, point], within: seconds)
                    try look("remove")
                }
                try command(["fsck"] + secrets + [vault.path], within: seconds)
            }
            try expectBounds(hostile, before)
        }
    }

    private var secrets: [String] { ["--passcode-file", vault.passcodeFile, "--device-key", deviceKeyFile] }

    private var newPasscode: String {
        get throws { try folder.write("rather another passcode, of nine words", to: "new passcode") }
    }

    private func expectBounds(_ hostile: HostileVault, _ before: [String: String]) throws {
        let after = try surroundings()
        for path in Set(before.keys).union(after.keys).sorted() where before[path] != after[path] {
            throw HarnessError(
                "\(path) beside the vault has changed from \(before[path] ?? "-") to \(after[path] ?? "-")")
        }
        let size = try size()
        guard size < Self.largest else { throw HarnessError("the vault takes \(size) bytes") }
    }

    // MARK: Memory

    /// The probe's words before a program whose memory it measures.
    private func measuring(_ program: String, to name: String = "command") -> [String] {
        ["measure", folder.path("memory of the " + name), program]
    }

    private func expectLittleMemory(_ arguments: [String], in name: String = "command") throws {
        let text = try String(contentsOfFile: folder.path("memory of the " + name), encoding: .utf8)
        guard let taken = Int(text.trimmingCharacters(in: .newlines)), taken < mostMemory else {
            throw HarnessError("\(arguments) took \(text) KiB of memory")
        }
    }

    // MARK: Commands

    /// Every exit status is accepted, but no end by a signal.
    private func command(_ arguments: [String], within seconds: Double) throws {
        let outcome = try attempt(
            Built.probe, measuring(Built.latchkey) + arguments, environment: vault.environment, within: seconds)
        try expectLittleMemory(arguments)
        guard outcome.status < 128 else { throw HarnessError("\(outcome)") }
        let words = outcome.text + outcome.errors
        guard !words.unicodeScalars.contains(where: { $0.value == 0x1B || $0.value == 0x202E || $0.value == 7 }) else {
            throw HarnessError("escape sequences of the vault's: \(outcome)")
        }
    }

    /// The reader that was written from docs/FORMAT.md alone.
    private func readVault(within seconds: Double) throws {
        let reader = [Built.project + "/tools/read-vault.py", vault.path] + secrets + ["verify"]
        let outcome = try attempt(Built.probe, measuring("python3") + reader, within: seconds)
        try expectLittleMemory(reader)
        guard outcome.status < 128, !outcome.errors.contains("Traceback") else {
            throw HarnessError("\(outcome.errors.suffix(1500))")
        }
    }

    /// Walks through the mount in a program of its own, which a hanging daemon cannot block for ever.
    private func look(_ what: String) throws {
        let program = Built.project + "/Tests/MountTests/Hostile/use.py"
        let outcome = try run("python3", [program, what, point], within: 60)
        guard outcome.status == 0 else { throw HarnessError("\(outcome)") }
    }

    /// - Parameter isExpected: whether the mount must succeed, since only single entries of the vault are wrong.
    private func mounted(
        _ options: [String], isExpected: Bool = false, within seconds: Double, _ body: () throws -> Void
    ) throws {
        let (input, log) = (try StreamFile(), try StreamFile())
        defer { extendLifetime(input) }
        let arguments = ["mount", "--foreground", "--unlock", "--grace", "0", vault.path, point] + secrets + options
        let daemon = try Child(
            Built.probe, measuring(Built.latchkey, to: "daemon") + arguments, environment: vault.environment,
            input: input.descriptor, output: log.descriptor, errors: log.descriptor)
        func said() -> String { String(decoding: log.contents, as: UTF8.self) }
        do {
            guard try waitUntilMounted(daemon, within: seconds) else {
                guard daemon.wait() < 128 else { throw HarnessError("mount: ended by a signal") }
                guard !isExpected else { throw HarnessError("it is not mounted") }
                return try expectLittleMemory(arguments, in: "daemon")
            }
            try body()
            try unmount()
            guard let status = daemon.wait(seconds: 20) else { throw HarnessError("the daemon runs after the unmount") }
            LiveMounts.remove(point)
            guard status == 0 else { throw HarnessError("the daemon ended with status \(status)") }
            try expectLittleMemory(arguments, in: "daemon")
        } catch {
            daemon.send(SIGKILL)
            LiveMounts.abortAll()
            unsafe umount2(point, Int32(MNT_DETACH))
            daemon.wait()
            LiveMounts.remove(point)
            throw HarnessError("\(error)\nthe daemon said: \(said().suffix(3000))")
        }
    }

    /// A close may still be on its way to the daemon.
    private func unmount() throws {
        let end = ContinuousClock.now + .seconds(5)
        var outcome = try vault.latchkey(["unmount", point], within: 20)
        while outcome.errors.contains("is in use"), ContinuousClock.now < end {
            usleep(10_000)
            outcome = try vault.latchkey(["unmount", point], within: 20)
        }
        try outcome.succeeded()
    }

    /// False if the daemon has refused the vault.
    private func waitUntilMounted(_ daemon: Child, within seconds: Double) throws -> Bool {
        let table = unsafe Glibc.open("/proc/self/mounts", O_RDONLY | O_CLOEXEC)
        defer { close(table) }
        let end = ContinuousClock.now + .seconds(seconds)
        while mountLines(of: point).isEmpty {
            if daemon.wait(seconds: 0) != nil { return false }
            guard ContinuousClock.now < end else { throw HarnessError("neither a mount nor a refusal") }
            var waiting = pollfd(fd: table, events: Int16(POLLPRI), revents: 0)
            unsafe poll(&waiting, 1, 20)
        }
        // The mount table tells the connection: the mount itself may hang.
        let device = mountLines(of: point)[0].split(separator: " ")[2].split(separator: ":").compactMap { UInt64($0) }
        LiveMounts.add(point, device: device[0] << 8 | device[1] & 0xff | (device[1] & ~0xff) << 12, daemon: daemon.pid)
        return true
    }
}

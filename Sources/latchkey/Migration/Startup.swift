import Control
import Crypto
import Glibc
import Posix

/// Mounts a vault now and at each login: by its unit of systemd, where there is one.
struct Startup {
    let name: String
    var report = MigrationReport(isJSON: false)

    private var units: [Path] { [Path("latchkey@\(name).service"), "latchkey-agent.service"] }
    private var scope: [Path] { geteuid() == 0 ? [] : ["--user"] }

    /// Whether the service manager of this user runs, and has the unit.
    private var hasUnit: Bool {
        (try? Self.quietly("systemctl", scope + ["cat", "latchkey@.service"])) == 0
            && (try? Self.quietly("systemctl", scope + ["show-environment"])) == 0
    }

    /// Mounts the vault, and unlocks it.
    func begin(unlockingWith passcode: borrowing Secret) throws(CommandError) {
        let pipe = try inWords(try passcode.pipe())
        try begin { () throws(CommandError) in
            let process = try unsafe Process.spawn(
                "/proc/self/exe", named: "latchkey", ["open", "--passcode-fd", "0", Path(name)]
            ) { actions, _ in
                unsafe posix_spawn_file_actions_adddup2(&actions, pipe.number, STDIN_FILENO)
            }
            return Process.exitCode(of: process) == 0
        }
    }

    /// Says what is left to do for the next login.
    private func begin(_ open: () throws(CommandError) -> Bool) throws(CommandError) {
        let isEnabled = hasUnit && (try? Process.run("systemctl", scope + ["--quiet", "enable", "--now"] + units)) == 0
        guard try open() else {
            throw CommandError(.failed, "the vault \(name) is not open", try: "latchkey open \(name.quoted)")
        }
        report.startup(name, isEnabled: isEnabled)
        guard !isEnabled else { return Standard.output("It is mounted at each login, by the unit latchkey@\(name).") }
        let systemctl: Printable = geteuid() == 0 ? "systemctl" : "systemctl --user"
        Standard.output("It is mounted until the next login. For each login:")
        Standard.output("  try: \(systemctl) enable --now latchkey@\(name) latchkey-agent")
    }

    /// Mounts it at each login, from the next one on.
    func enable() {
        guard hasUnit else { return }
        _ = try? Self.quietly("systemctl", scope + ["--quiet", "enable"] + units)
    }

    /// Mounts it at no login any more.
    func end() {
        guard hasUnit else { return }
        _ = try? Self.quietly("systemctl", scope + ["--quiet", "disable", Path("latchkey@\(name).service")])
    }

    private static func quietly(_ program: Path, _ arguments: [Path]) throws(CommandError) -> Int32 {
        let null: Descriptor
        do throws(Errno) { null = try Descriptor.open(path: "/dev/null", O_RDWR) } catch {
            throw CommandError(cannot: "open", "/dev/null", error)
        }
        let process = try unsafe Process.spawn(program, named: program, arguments) { actions, _ in
            unsafe posix_spawn_file_actions_adddup2(&actions, null.number, STDOUT_FILENO)
            unsafe posix_spawn_file_actions_adddup2(&actions, null.number, STDERR_FILENO)
        }
        return Process.exitCode(of: process)
    }
}

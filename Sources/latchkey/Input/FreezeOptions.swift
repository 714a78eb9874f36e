import ArgumentParser
import Control
import Daemon
import Glibc
import Posix

/// How `mount` treats requests for locked contents.
struct FreezeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            What open(2) and read(2) of a locked file do: fail with ENOKEY, or freeze until the unlock. Writes fail. \
            (default: fail)
            """,
            valueName: "fail|freeze"))
    var whenLocked: Control.Status.WhenLocked?

    @Option(
        help: ArgumentHelp(
            "How long a frozen call waits before it fails. (default: for ever)", valueName: "seconds"))
    var freezeTimeout: Int?

    func validate() throws {
        guard let freezeTimeout else { return }
        guard whenLocked == .freeze else { throw ValidationError("--freeze-timeout goes with --when-locked freeze.") }
        guard freezeTimeout > 0 else { throw ValidationError("--freeze-timeout takes 1 second or more.") }
    }

    /// Refuses a wait that would end the mount: the kernel may be configured to abort a mount whose daemon leaves a
    /// request unanswered.
    ///
    /// Source: Linux's Documentation/admin-guide/sysctl/fs.rst, fs.fuse.
    func checkKernel(_ folder: String = "/proc/sys/fs/fuse") throws(CommandError) {
        guard whenLocked == .freeze else { return }
        let limits = ["default_request_timeout", "max_request_timeout"].compactMap { name -> Int? in
            // A kernel without these settings waits without limit.
            guard let bytes = try? Descriptor.open(path: "\(folder)/\(name)", O_RDONLY).bytes(atMost: 20) else {
                return nil
            }
            return Int(String(decoding: bytes, as: UTF8.self).filter(\.isNumber))
        }.filter { $0 > 0 }
        guard let limit = limits.min(), freezeTimeout ?? .max > limit / 2 else { return }
        throw CommandError(
            .failed, "the kernel ends a mount on which a request waits for \(limit) seconds (sysctl fs.fuse)",
            try: "latchkey mount --when-locked freeze --freeze-timeout \(limit / 2) VAULT DIR")
    }

    func apply(to configuration: inout Configuration) {
        switch whenLocked ?? .fail {
        case .fail: configuration.whenLocked = .fail
        case .freeze: configuration.whenLocked = .freeze(timeout: freezeTimeout.map { .seconds($0) })
        }
    }

    /// The same options for the command line of a daemon.
    var arguments: [String] {
        ["--when-locked", (whenLocked ?? .fail).rawValue] + (freezeTimeout.map { ["--freeze-timeout", "\($0)"] } ?? [])
    }
}

extension Control.Status.WhenLocked: ExpressibleByArgument {}

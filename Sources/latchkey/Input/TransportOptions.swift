import ArgumentParser
import Daemon
import enum Fuse.RingSwitch
import Posix
import VaultNames

/// By which way `mount` gets the kernel's requests.
struct TransportOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            How the kernel's requests come: by io_uring, which is faster, by /dev/fuse, or auto, which takes io_uring \
            where the kernel allows it. latchkey status says which. (default: auto)
            """, valueName: "auto|io_uring|device"))
    var transport: NamedVault.Transport?

    func apply(to configuration: inout Configuration) {
        configuration.transport =
            switch transport ?? .auto {
            case .auto: .automatic
            case .ring: .ring
            case .device: .device
            }
    }

    /// - Throws: why a mount cannot have io_uring, if it must.
    func check(freezes: Bool) throws(CommandError) {
        guard transport == .ring else { return }
        if freezes {
            throw CommandError(
                .usage, "--transport io_uring does not go with --when-locked freeze: programs could not be killed")
        }
        guard let obstacle = RingSwitch.obstacle else { return }
        switch obstacle {
        case .notWanted: return
        case .notSupported: throw CommandError(.failed, "this kernel has no FUSE over io_uring (Linux 6.14)")
        case .switchedOff:
            throw CommandError(
                .failed, "this kernel has FUSE over io_uring switched off",
                try: "echo Y > \(RingSwitch.path)   (as root)")
        case .refused(.EPERM):
            throw CommandError(
                .failed, "this system forbids io_uring",
                try: "sysctl kernel.io_uring_disabled   (0 allows it; a filter of system calls may forbid it, too)")
        case .refused(let error): throw CommandError(.failed, "the kernel has refused io_uring: \(error)")
        }
    }

    /// The same options for the command line of a daemon.
    var arguments: [Path] { transport.map { ["--transport", Path($0.rawValue)] } ?? [] }
}

extension NamedVault.Transport: ExpressibleByArgument {}

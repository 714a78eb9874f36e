import Administration
import ArgumentParser
import Control
import Daemon
import Posix

/// How `mount` treats other machines that reach the vault.
struct LeaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            For a vault that other machines reach too: seconds, 0.1 to 60, that this machine may change it without a \
            look whether another one has taken it over. After five times that, a machine that is silent counts as dead. \
            (default: 15, on a network store)
            """, valueName: "seconds"))
    var lease: LeaseTime?

    @Flag(
        help: """
            Do not wait whether another machine still uses the vault: it does not. If it does, what both write is lost.
            """)
    var takeOver = false

    @Flag(
        inversion: .prefixedNo,
        help: """
            Let other machines that reach the same folder mount the vault with --shared too, at the same time. The \
            store must have locks that cross machines, and the vault must be a synchronised one. (default: only this \
            machine)
            """)
    var shared: Bool?

    var isShared: Bool { shared == true }

    func apply(to configuration: inout Configuration) {
        configuration.lease = lease?.duration
        configuration.takesOver = takeOver
        configuration.isShared = isShared
        configuration.waiting = Self.tell
    }

    /// For what the command does by itself before the daemon begins.
    var ofCommand: ClaimOptions {
        var options = ClaimOptions.ofCommand
        options.lease = lease?.duration
        options.takesOver = takeOver
        return options
    }

    /// The same options for the command line of a daemon.
    var arguments: [Path] {
        (lease.map { ["--lease", Path($0.text)] } ?? []) + (takeOver ? ["--take-over"] : [])
            + (isShared ? ["--shared"] : [])
    }

    /// What does not go together with --shared.
    func contradiction(isReadOnly: Bool, freezes: Bool, setsClass: Bool) -> String? {
        guard isShared else { return nil }
        if isReadOnly { return "--shared and a read-only mount exclude each other" }
        if freezes { return "--shared and --when-locked freeze exclude each other" }
        if setsClass { return "--class-default is for a mount without --shared" }
        if takeOver { return "--shared and --take-over exclude each other" }
        return nil
    }

    /// Says on standard error for what a command waits.
    static func tell(_ host: String?, _ seconds: Int) {
        let machine: Printable = host.map { "The machine \(Printable($0))" } ?? "Another machine"
        Standard.error(
            "\(machine) has not released the vault. Waiting up to \(seconds) seconds whether it still uses it.")
    }
}

extension ClaimOptions {
    /// For a command that opens a vault by itself.
    static var ofCommand: ClaimOptions {
        var options = ClaimOptions()
        options.waiting = LeaseOptions.tell
        return options
    }

    /// For a command that destroys the keys at once, however the claims are.
    static var ofErase: ClaimOptions {
        var options = ClaimOptions()
        options.takesOver = true
        options.isForgiving = true
        return options
    }

    /// For a login, which does not wait for another machine.
    static var withoutWaiting: ClaimOptions {
        var options = ClaimOptions()
        options.pause = { _ in false }
        return options
    }
}

/// A lease: 0.1 to 60 seconds.
struct LeaseTime: ExpressibleByArgument, Hashable {
    let text: String
    let duration: Duration

    init?(argument: String) {
        let isNumber = argument.utf8.allSatisfy { 48...57 ~= $0 || $0 == UInt8(ascii: ".") }
        guard isNumber, let seconds = Double(argument), 0.1...60 ~= seconds else { return nil }
        text = argument
        duration = .milliseconds(Int((seconds * 1000).rounded()))
    }
}

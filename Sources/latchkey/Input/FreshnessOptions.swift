import ArgumentParser
import Control
import Daemon
import Policy
import Posix
import VaultNames

/// What `mount` does with files that are older than what this machine has seen.
struct FreshnessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            What happens to files that are older than this machine has seen: warn tells of them, strict refuses them \
            until latchkey accept, and off remembers nothing. (default: what the policy says, else warn)
            """, valueName: "warn|strict|off"))
    var freshness: NamedVault.Freshness?

    @Flag(help: "The vault was restored from a backup: its files are as they should be.")
    var restored = false

    func apply(to configuration: inout Configuration, _ policy: PolicyInForce) {
        configuration.freshness =
            switch freshness {
            case .warn: .warn
            case .strict: .strict
            case .off: .off
            case nil: policy.freshness == .strict ? .strict : .warn
            }
        configuration.isRestored = restored
    }

    /// The same options for the command line of a daemon, which asks nothing.
    var arguments: [Path] {
        (freshness.map { ["--freshness", Path($0.rawValue)] } ?? []) + (restored ? ["--restored"] : [])
    }

    func validate(isReadOnly: Bool) throws {
        guard restored else { return }
        if isReadOnly { throw ValidationError("--restored is of no use with -o ro: nothing is remembered then.") }
        if freshness == .off { throw ValidationError("--restored is of no use with --freshness off.") }
    }

    /// Asks once, after a mount, whether a vault that looks like a copy of earlier was restored on purpose.
    ///
    /// - Parameter isAsked: otherwise only tells.
    func settle(_ mount: ServedMount?, isAsked: Bool) throws(CommandError) {
        guard let mount, let freshness = mount.status.freshness else { return }
        let point = mount.status.mountPoint
        guard let moment = freshness.moment else {
            guard freshness.hasLostJournal else { return }
            return Standard.error(
                "latchkey: warning: the vault's journal is older than this machine has seen, or gone: what programs "
                    + "synced last before the crash may be missing")
        }
        let looks: Printable =
            "\(mount.status.vault) looks as it did \(Clock.date(moment)), and this machine has seen it later"
        guard !mount.status.readOnly else { return Standard.error("latchkey: warning: \(looks)") }
        guard isAsked, let terminal = Terminal.standardInput() else {
            Standard.error("latchkey: warning: \(looks). If you have restored it,")
            return Standard.error("  try: latchkey accept --all \(point.quoted)")
        }
        Standard.error("\(looks).")
        // A terminal that has gone answers with nothing, again and again.
        for _ in 0..<3 {
            let answer: String
            do throws(SecretReader.Failure) {
                answer = try terminal.text(prompt: "Have you restored it from a backup? Type yes or no: ")
            } catch .empty { continue } catch { break }
            switch answer {
            case "yes":
                do { try mount.client.accept(nil) } catch { throw CommandError(error, at: point) }
                return Standard.error("This machine goes by the vault as it is now.")
            case "no":
                Standard.error("Then an old copy was put in its place. Nothing was accepted.")
                return Standard.error("  try: latchkey status \(point.quoted)")
            default: continue
            }
        }
        Standard.error("Nothing was accepted. If you have restored it,")
        Standard.error("  try: latchkey accept --all \(point.quoted)")
    }
}

extension NamedVault.Freshness: ExpressibleByArgument {}

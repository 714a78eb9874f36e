import ArgumentParser
import Policy
import Posix

extension PolicyCommand {
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what the policy demands, and whether a vault keeps it.",
            discussion: """
                Without a vault: shows each rule with its line, or what is wrong with the file. With a vault: says \
                whether it keeps each rule; the exit code is 1 if it breaks one. Some facts are known only while the \
                vault is mounted; a passcode's strength only when it is set. No passcode is needed.

                --json writes an object: policy (the path of the file) and rules, in the order of their lines: rule \
                (its name in the file), line, sentence, and with a vault outcome (kept, broken, unknown) and reason \
                (a sentence; only of a broken one). Fields may be added.
                """ + Examples.of("latchkey policy check", "latchkey policy check ~/vault"))

        @OptionGroup var options: PolicyOptions

        @Flag(help: "Write JSON.")
        var json = false

        @Argument(help: ArgumentHelp("The mount, a path in it, or the vault.", valueName: "vault"))
        var argument: Path?

        func run() throws {
            let policy = try options.load()
            let argument = try argument.map { path throws(CommandError) in try PathArgument.of(path) }
            let facts = try argument.map { argument throws(CommandError) in try Facts(of: argument) }
            let report = PolicyReport(policy)
            if json { Standard.output(try JSON.text(PolicyJSON(policy, on: facts))) }
            guard let facts, let argument else { return json ? () : Standard.output(report.text) }
            if !json { Standard.output(report.text(on: facts)) }
            var failures = Failures()
            for violation in policy.violations(of: facts) {
                failures.add(report.error(violation, at: argument))
            }
            try failures.end(of: policy.statements.count)
        }
    }
}

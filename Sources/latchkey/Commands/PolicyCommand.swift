import ArgumentParser
import Policy

/// `latchkey policy`: what the administrator of this machine requires.
struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Explain what this machine's administrator demands of its vaults.",
        discussion: """
            The policy is \(Policy.standardPath). The other commands and the daemon refuse what breaks it. If there is \
            no policy, everything is allowed.
            """,
        subcommands: [Check.self])
}

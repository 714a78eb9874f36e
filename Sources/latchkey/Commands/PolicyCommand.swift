import ArgumentParser
import Policy

/// `latchkey policy`: what the administrator of this machine requires.
struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Explain what this machine's administrator demands of its vaults.",
        discussion: """
            The policy is \(Policy.standardPath). What breaks it is refused by the other commands and by the daemon; where \
            there is none, all is allowed.
            """,
        subcommands: [Check.self])
}

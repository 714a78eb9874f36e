import ArgumentParser
import Posix
import VaultNames

/// `latchkey config`: the vaults that this user has named.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Explain the configuration: the vaults that have names.",
        discussion: """
            The configuration is latchkey/config.toml in $XDG_CONFIG_HOME or ~/.config. It has a table for each vault \
            with a name; docs/COMMANDS.md lists its keys. latchkey init --name makes a vault and its table.
            """,
        subcommands: [Check.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what the configuration says, line by line, or what is wrong with it.",
            discussion: """
                The exit code is 1 if something is wrong.

                With --json: an object with path and vaults (name, line, folder, mount, and statements with line and \
                text), or with path, problem and, if it is known, line.
                """ + Examples.of("latchkey config check"))

        @Flag(help: "Write JSON.")
        var json = false

        func run() throws {
            let vaults: NamedVaults
            do throws(NamedVaultsError) {
                vaults = try NamedVaults.load()
                try vaults.checkOptions()
            } catch {
                if json { Standard.output(try JSON.text(ConfigProblem(error))) }
                throw CommandError(.failed, "\(error)")
            }
            Standard.output(json ? try JSON.text(ConfigReport(vaults)) : ConfigReport(vaults).text)
        }
    }
}

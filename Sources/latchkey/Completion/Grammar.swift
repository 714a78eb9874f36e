import ArgumentParser
import FoundationEssentials

/// The commands, options and values of this program, as the argument parser dumps them.
struct Grammar: Decodable {
    let command: Command

    struct Command: Decodable {
        let commandName: String
        let abstract: String?
        let shouldDisplay: Bool
        let subcommands: [Command]?
        let arguments: [Argument]?

        func child(_ name: String) -> Command? { subcommands?.first { $0.commandName == name } }

        var positionals: [Argument] { (arguments ?? []).filter { $0.kind == .positional && $0.shouldDisplay } }

        var options: [Argument] { (arguments ?? []).filter { $0.kind != .positional && $0.shouldDisplay } }

        func option(_ spelling: String) -> Argument? { options.first { $0.spellings.contains(spelling) } }
    }

    struct Argument: Decodable {
        enum Kind: String, Decodable { case positional, option, flag }

        struct Name: Decodable {
            enum Kind: String, Decodable { case long, short, longWithSingleDash }
            let kind: Kind
            let name: String

            var spelling: String { (kind == .long ? "--" : "-") + name }
        }

        let kind: Kind
        let names: [Name]?
        let valueName: String?
        let abstract: String?
        let allValues: [String]?
        let isRepeating: Bool
        let shouldDisplay: Bool
        let parsingStrategy: String?

        /// Whether it takes all words from here on, also those that look like options: another command.
        var takesTheRest: Bool { parsingStrategy == "allRemainingInput" }

        var spellings: [String] { (names ?? []).map(\.spelling) }
    }

    /// Nil if the parser's dump is not what this program reads.
    static func ofThisProgram() -> Grammar? {
        do {
            _ = try Latchkey.parseAsRoot(["--experimental-dump-help"])
            return nil
        } catch {
            return try? JSONDecoder().decode(Grammar.self, from: Data(Latchkey.fullMessage(for: error).utf8))
        }
    }
}

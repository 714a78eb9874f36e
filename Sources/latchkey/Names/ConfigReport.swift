import ArgumentParser
import Posix
import VaultNames

/// What a configuration says.
struct ConfigReport: Encodable {
    private struct Vault: Encodable {
        let name: String
        let line: Int
        let folder: String
        let mount: String
        let statements: [Line]
    }

    private struct Line: Encodable {
        let line: Int
        let text: String
    }

    private let path: String
    private let vaults: [Vault]
    private let agent: [Line]

    init(_ named: NamedVaults) {
        path = named.path
        agent = named.agent.statements.map { Line(line: $0.line, text: $0.sentence) }
        vaults = named.vaults.map { vault in
            Vault(
                name: vault.name.text, line: vault.line, folder: vault.folder, mount: vault.mountPoint,
                statements: vault.statements.map { Line(line: $0.line, text: $0.sentence) })
        }
    }

    /// Each line in a sentence.
    var text: Printable {
        guard !vaults.isEmpty || !agent.isEmpty else {
            return "No vault has a name: \(path) is not there, or has no tables."
        }
        var table = Table()
        for line in (vaults.flatMap(\.statements) + agent).sorted(by: { $0.line < $1.line }) {
            table.add("line \(line.line)", "\(line.text)")
        }
        return "\(path):\n\(table.lines(indent: 2))"
    }
}

/// What is wrong with a configuration.
struct ConfigProblem: Encodable {
    private let path: String
    private let line: Int?
    private let problem: String

    init(_ error: NamedVaultsError) { (path, line, problem) = (error.path, error.line, error.problem) }
}

extension NamedVaults {
    /// The user's configuration, or an error in words.
    static func loaded() throws(CommandError) -> NamedVaults {
        do throws(NamedVaultsError) { return try load() } catch { throw CommandError(error) }
    }

    /// Throws for a value of `-o` that mount would refuse.
    func checkOptions() throws(NamedVaultsError) {
        for vault in vaults {
            do { _ = try MountOptions(parsing: vault.mountOptions) } catch {
                let line = vault.lines[.options] ?? vault.line
                throw NamedVaultsError(path, line: line, "\((error as? ValidationError)?.message ?? "\(error)")")
            }
        }
    }
}

import VaultNames

/// A configuration with the names of vaults.
final class ConfigParser: FuzzedParser {
    private static let path = "config.toml"
    private let folders = UserFolders { $0 == "HOME" ? "/home/ann" : nil }

    init() {}

    func run(_ input: [UInt8]) throws(Finding) {
        guard let text = String(validating: input, as: UTF8.self) else { return }
        let lines = input.count { $0 == UInt8(ascii: "\n") } + 1
        let named: NamedVaults
        do throws(NamedVaultsError) { named = try NamedVaults(parsing: text, path: Self.path, folders) } catch {
            return try demand(error.line.map { 1...lines ~= $0 } == true, "an error outside of the file: \(error)")
        }
        for vault in named.vaults {
            let numbers = vault.statements.map(\.line)
            try demand(numbers.allSatisfy { 1...lines ~= $0 }, "a statement outside of the file")
            try demand(vault.folder.hasPrefix("/") && vault.mountPoint.hasPrefix("/"), "a relative path")
            try demand(VaultName(vault.name.text) == vault.name, "a name that is none")
        }
        try checkAddition(to: text, of: named)
    }

    /// What stands in the file stays as it was when a name is added.
    private func checkAddition(to text: String, of named: NamedVaults) throws(Finding) {
        guard let name = VaultName("a-name-that-is-new") else { return }
        let vault = NamedVault(name, folder: "/a folder/that is new", mountPoint: "/a mount point/that is new")
        let longer: String
        do throws(NamedVaultsError) {
            longer = try NamedVaults.text(text, adding: vault, path: Self.path, folders)
        } catch {
            let isTaken = named[name.text] != nil || (try? named.check(vault)) == nil
            return try demand(isTaken, "a name cannot be added: \(error)")
        }
        try demand(longer.utf8.starts(with: text.utf8), "what was in the file is changed")
        let again = try demandSuccess(of: "reading with a name more") { () throws(NamedVaultsError) in
            try NamedVaults(parsing: longer, path: Self.path, folders)
        }
        try demand(again.vaults.dropLast().elementsEqual(named.vaults), "other vaults than before")
        try demand(again.vaults.last?.folder == vault.folder, "another folder than the one that was added")
    }
}

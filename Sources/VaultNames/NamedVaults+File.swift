import TOML

extension NamedVaults {
    /// Reads the user's configuration; if there is none, no vault has a name.
    /// - Throws: if the file cannot be read, is owned by another user than root or the caller, is writable by others
    ///   than its owner, or is refused by `init(parsing:path:_:)`. A name must not be taken for a path then.
    public static func load(_ folders: UserFolders = UserFolders()) throws(NamedVaultsError) -> NamedVaults {
        let path = folders.namedVaults
        let text: String?
        do { text = try TrustedFile.text(of: path) } catch {
            throw NamedVaultsError(path, line: error.line, error.problem)
        }
        guard let text else { return NamedVaults(path: path) }
        return try NamedVaults(parsing: text, path: path, folders)
    }
}

import VaultNames

extension CommandError {
    /// Why the configuration cannot be used: no vault is found by its name.
    init(_ error: NamedVaultsError) {
        self.init(
            .failed, "the configuration cannot be used: \(error)",
            try: "latchkey config check", "a path with a slash, such as ./NAME, in place of the name")
    }
}

/// The configuration of a user: the vaults that have names.
public struct NamedVaults: Hashable, Sendable {
    /// The file, for messages.
    public let path: String
    /// In the order of the file.
    public internal(set) var vaults: [NamedVault] = []
    public internal(set) var agent = AgentConfiguration()

    /// Without any vault.
    public init(path: String) { self.path = path }

    public subscript(_ name: String) -> NamedVault? { vaults.first { $0.name.text == name } }
}

/// Why the configuration cannot be used.
public struct NamedVaultsError: Error, Hashable, Sendable, CustomStringConvertible {
    public let path: String
    /// Counted from 1; nil if the error concerns the whole file.
    public let line: Int?
    /// Without a capital at the beginning and a full stop at the end.
    public let problem: String

    public init(_ path: String, line: Int? = nil, _ problem: String) {
        self.path = path
        self.line = line
        self.problem = problem
    }

    /// Such as "/home/ann/.config/latchkey/config.toml, line 4: there is no key graec".
    public var description: String { path + (line.map { ", line \($0)" } ?? "") + ": " + problem }
}

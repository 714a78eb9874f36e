import Posix

/// A file that SQLite keeps beside a database. Source: sqlite.org, "Temporary Files Used By SQLite".
public struct SQLiteSideFile: Sendable {
    public let name: Name
    public let database: Name
    /// Whether it holds pages of the database. Otherwise it is an index that all users of the database map.
    public let hasContents: Bool

    private static let suffixes = [("-wal", true), ("-journal", true), ("-shm", false)]

    /// Nil if the name is not that of a side file.
    public init?(_ name: Name) {
        for (suffix, hasContents) in Self.suffixes {
            let suffix = Array(suffix.utf8)
            guard name.bytes.count > suffix.count, name.bytes.suffix(suffix.count).elementsEqual(suffix),
                let database = Name(bytes: name.bytes.dropLast(suffix.count))
            else { continue }
            (self.name, self.database, self.hasContents) = (name, database, hasContents)
            return
        }
        return nil
    }

    /// The side files that a file would have as a database, without those whose names would be too long.
    public static func all(of database: Name) -> [SQLiteSideFile] {
        suffixes.compactMap { suffix, _ in Name(bytes: Array(database.bytes) + suffix.utf8).flatMap(SQLiteSideFile.init)
        }
    }
}

import Posix

/// A file that SQLite keeps beside a database. Source: sqlite.org, "Temporary Files Used By SQLite".
public struct SQLiteSideFile: Sendable {
    public let name: Name
    public let database: Name
    /// Pages of the database lie in it; otherwise it is an index that all users of the database map.
    public let hasContents: Bool

    private static let suffixes = [("-wal", true), ("-journal", true), ("-shm", false)]

    /// Nil for a name that is none of such a file's.
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

    /// Those that a file would have if it were a database; fewer if names get too long.
    public static func all(of database: Name) -> [SQLiteSideFile] {
        suffixes.compactMap { suffix, _ in Name(bytes: Array(database.bytes) + suffix.utf8).flatMap(SQLiteSideFile.init)
        }
    }
}

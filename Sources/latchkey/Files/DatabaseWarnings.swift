import Format
import Glibc
import Posix
import Vault

/// Checks whether the classes of an SQLite database and of its side files match: docs/DATABASES.md.
enum DatabaseWarnings {
    /// The warnings about a file that is a database or belongs to one, a sentence each.
    static func all(about name: Name, in folder: Descriptor) -> [String] {
        let side = SQLiteSideFile(name)
        let database = side?.database ?? name
        guard let own = protectionClass(of: database, in: folder) else { return [] }
        return (side.map { [$0] } ?? SQLiteSideFile.all(of: database)).compactMap { side in
            protectionClass(of: side.name, in: folder).flatMap { warning(about: side, of: $0, databaseOf: own) }
        }
    }

    /// Compares with the class that the mount would give: the database's class to contents, at most class C to an
    /// index.
    private static func warning(
        about side: SQLiteSideFile, of found: ProtectionClass, databaseOf own: ProtectionClass
    ) -> String? {
        let both = "\(side.name) is of class \(found.letter), \(side.database) of \(own.letter)"
        guard side.hasContents else {
            return found.isStricter(than: .completeUntilFirstUserAuthentication)
                ? "\(side.name) is of class \(found.letter): programs map it, and a lock kills them. "
                    + "C is enough: it has no contents"
                : nil
        }
        if own.isStricter(than: found) { return both + ": what it holds of the database is protected less" }
        return found.isStricter(than: own) ? both + ": when it is locked the database cannot be used" : nil
    }

    /// Nil for a name that does not exist, or is not a regular file.
    private static func protectionClass(of name: Name, in folder: Descriptor) -> ProtectionClass? {
        guard let file = try? folder.open(name, O_PATH | O_NOFOLLOW), (try? file.status())?.kind == .regular,
            let value = try? file.attribute(ProtectionClass.attributeName)
        else { return nil }
        return ProtectionClass(attributeValue: String(decoding: value, as: UTF8.self))
    }
}

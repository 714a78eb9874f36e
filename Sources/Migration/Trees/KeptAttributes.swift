import Glibc
import Posix

/// Which extended attributes a migration keeps.
enum KeptAttributes {
    private static let lists = AccessControlList.attributes.map { Array($0.utf8) }
    /// The mount computes these: a copy of one would say nothing.
    private static let computed = Array("user.latchkey.".utf8)

    /// Ordinary users cannot set attributes of other namespaces. Labels of security modules belong to a place and not
    /// to a file: the system gives the copy its own. Capabilities belong to the file.
    static func contains(_ name: [UInt8]) -> Bool {
        if lists.contains(name) { return true }
        if name.starts(with: Array("user.".utf8)) { return !name.starts(with: computed) }
        guard geteuid() == 0 else { return false }
        return name.starts(with: Array("trusted.".utf8)) || name == Array("security.capability".utf8)
    }

    static func isAccessList(_ name: [UInt8]) -> Bool { name == lists[0] }
    static func isDefaultList(_ name: [UInt8]) -> Bool { name == lists[1] }
}

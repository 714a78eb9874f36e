import Format
import Glibc
import Posix

/// Which extended attributes a migration keeps.
enum KeptAttributes {
    private static let lists = AccessControlList.attributes.map { Array($0.utf8) }
    private static let reserved = Array("user.latchkey.".utf8)
    private static let className = Array(ProtectionClass.attributeName.utf8)

    /// What a vault stores of the names that it has, and a folder.
    ///
    /// Ordinary users cannot set attributes of other namespaces. Labels of security modules belong to a place and not
    /// to a file: the system gives the copy its own. Capabilities belong to the file.
    static func isStored(_ name: [UInt8]) -> Bool {
        if lists.contains(name) { return true }
        if name.starts(with: Array("user.".utf8)) { return !name.starts(with: reserved) }
        guard geteuid() == 0 else { return false }
        return name.starts(with: Array("trusted.".utf8)) || name == Array("security.capability".utf8)
    }

    /// What is kept of a plain file's attributes: also the class that a file had in a vault, so that it has it again.
    static func isKept(_ attribute: Attribute) -> Bool { isStored(attribute.name) || attribute.protectionClass != nil }

    static func mayBeKept(_ name: [UInt8]) -> Bool { isStored(name) || name == className }

    static func isAccessList(_ name: [UInt8]) -> Bool { name == lists[0] }
    static func isDefaultList(_ name: [UInt8]) -> Bool { name == lists[1] }

    /// The attribute in which an ordinary file keeps the class that was set on it.
    static func attribute(of protectionClass: ProtectionClass) -> Attribute {
        Attribute(name: className, value: Array(protectionClass.name.utf8))
    }
}

extension Attribute {
    /// The class that it names, if it is that attribute.
    var protectionClass: ProtectionClass? {
        guard name == Array(ProtectionClass.attributeName.utf8) else { return nil }
        return String(validating: value, as: UTF8.self).flatMap { ProtectionClass(attributeValue: $0) }
    }
}

import Foundation
internal import Format

// Foundation's own type serves here; its raw values are what Latchkey takes, too. Nobody else on Linux uses it.
extension FileProtectionType {
    init(_ protectionClass: ProtectionClass) {
        self.init(rawValue: protectionClass.appleName)
    }

    /// Nil for a type that Latchkey has no class for.
    var protectionClass: ProtectionClass? {
        ProtectionClass.allCases.first { $0.appleName == rawValue }
    }

    /// The value that sets the class as an extended attribute.
    func attributeValue() throws(DataProtectionError) -> [UInt8] {
        guard let protectionClass else { throw .unknownProtection(rawValue) }
        return Array(protectionClass.name.utf8)
    }
}

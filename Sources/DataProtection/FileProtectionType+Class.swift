import Foundation
internal import Format

// Foundation's own type serves here; Latchkey accepts its raw values, and nothing else on Linux uses it.
extension FileProtectionType {
    init(_ protectionClass: ProtectionClass) {
        self.init(rawValue: protectionClass.appleName)
    }

    /// Nil for a type that no class of Latchkey corresponds to.
    var protectionClass: ProtectionClass? {
        ProtectionClass.allCases.first { $0.appleName == rawValue }
    }

    /// The value of the extended attribute that sets the class.
    func attributeValue() throws(DataProtectionError) -> [UInt8] {
        guard let protectionClass else { throw .unknownProtection(rawValue) }
        return Array(protectionClass.name.utf8)
    }
}

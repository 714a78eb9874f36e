import Format
import Glibc
import Posix
import Store
import Vault

extension RepairWork {
    /// Removes an attribute that does not open; its bytes are kept in the report.
    func removeAttribute(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome? {
        guard let attribute = spot.attribute else { return nil }
        let owner = try owner(of: attribute, spot)
        let continuation = AttributeName(backing: attribute, owner.prefix).flatMap {
            vault.continuation(of: $0, of: owner)
        }
        var attributes = [attribute]
        if let continuation = continuation?.backing(owner.prefix) {
            let names = try backing { () throws(Errno) in try store.attributeNames(of: owner.descriptor) }
            if names.contains(continuation) { attributes.append(continuation) }
        }
        try strip(attributes, from: owner, finding)
        return .done("removed; its bytes are in the report")
    }

    /// Removes a continuation without a value.
    func removeContinuation(_ spot: Spot) throws(VaultError) -> RepairOutcome? {
        guard let attribute = spot.attribute else { return nil }
        let owner = try owner(of: attribute, spot)
        try remove([attribute], from: owner)
        return .done("removed")
    }

    /// Writes attributes to the report, then removes them.
    func strip(_ attributes: [String], from owner: AttributeSubject, _ finding: Finding) throws(VaultError) {
        var lines: [Printable] = []
        for attribute in attributes {
            let value = try backing { () throws(Errno) in try store.attribute(attribute, of: owner.descriptor) }
            lines.append("attribute removed: \(attribute), its bytes: \(String(hexadecimal: value))")
        }
        try note(finding, lines)
        try remove(attributes, from: owner)
    }

    private func remove(_ attributes: [String], from owner: AttributeSubject) throws(VaultError) {
        try backing { () throws(Errno) in
            for attribute in attributes { try store.removeAttribute(attribute, of: owner.descriptor) }
        }
        if owner.prefix == .trusted { try vault.flushAll() } else { try flush(owner.descriptor) }
    }

    /// The owner of an attribute in a finding, without its ID, which is not needed here.
    private func owner(of attribute: String, _ spot: Spot) throws(VaultError) -> AttributeSubject {
        let folder = try folder(of: spot.treePath)
        guard let stored = spot.stored else { return AttributeSubject(descriptor: folder.descriptor, identifier: []) }
        guard attribute.utf8.starts(with: AttributeName.Prefix.trusted.rawValue.utf8) else {
            return AttributeSubject(descriptor: try vault.openBacking(stored, in: folder), identifier: [])
        }
        return AttributeSubject(
            node: try backing { () throws(Errno) in try store.open(stored, in: folder.descriptor, O_PATH, mode: 0) })
    }
}

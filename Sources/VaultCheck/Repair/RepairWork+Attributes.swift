import Format
import Glibc
import Posix
import Store
import Vault

extension RepairWork {
    /// Removes an attribute that does not open; its bytes are kept in the report.
    func removeAttribute(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome? {
        guard let attribute = spot.attribute else { return nil }
        if let sidecar = attribute.sidecarName { return try removeSidecar(sidecar, spot, finding) }
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

    /// Keeps the bytes of a sidecar that does not open in a file of lost+found, and removes it.
    private func removeSidecar(_ name: Name, _ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome {
        guard let folder = try vault.openAttributes() else { return .done("removed") }
        guard let bytes = try vault.sidecarBytes(name, in: folder) else {
            return .failed("it is not a file that Latchkey has made: look at it, and remove it yourself")
        }
        // A folder's spot is the folder itself.
        let above = spot.stored == nil ? spot.treePath.parent ?? .root : spot.treePath
        let owner = (spot.stored == nil ? spot.treePath.name : spot.name) ?? "root"
        let (target, path) = try lostAndFound.folder(for: above)
        try note(finding, [])
        let kept = try lostAndFound.freeName(owner, ".attributes", in: target)
        try lostAndFound.makeFile(kept, bytes, in: target)
        try backing { () throws(Errno) in try store.unlink(name, in: folder) }
        try flush(folder)
        return .done("removed; its bytes are in \(path + [UInt8(ascii: "/")] + kept.bytes)")
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

extension String {
    /// The name in a path of a sidecar; nil for the stored name of an attribute.
    fileprivate var sidecarName: Name? {
        let folder = BackingName.attributes + "/"
        return hasPrefix(folder) ? Name(bytes: utf8.dropFirst(folder.utf8.count)) : nil
    }
}

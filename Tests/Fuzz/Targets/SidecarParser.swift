import Format

/// The attributes in a sidecar, decrypted: the maker of a vault, who may be an attacker, knows the key.
final class SidecarParser: FuzzedParser {
    init() {}

    func run(_ input: [UInt8]) throws(Finding) {
        guard let sidecar = try? unsafe AttributeSidecar(decoding: input.span.bytes) else { return }
        try demand(sidecar.encoded == input, "a sidecar that is written otherwise")
        try demand(sidecar.encodedCount == input.count, "a size of \(sidecar.encodedCount)")
        try demand(input.count <= AttributeSidecar.largest, "a sidecar of \(input.count) bytes")
        for attribute in sidecar.attributes {
            try demand(1...255 ~= attribute.name.count, "a name of \(attribute.name.count) bytes")
            try demand(attribute.value.count <= 65_536, "a value of \(attribute.value.count) bytes")
            try demand(sidecar[attribute.name] == attribute.value, "an attribute that is not found")
        }
    }
}

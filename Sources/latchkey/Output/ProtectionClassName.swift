import Format

/// A class as people see it: "complete (A)".
struct ProtectionClassName {
    let text: String

    init(_ protectionClass: ProtectionClass) { text = "\(protectionClass.name) (\(protectionClass.letter))" }

    /// From the daemon's long name; a name that this version does not know stays as it is.
    init(_ name: String) {
        text = ProtectionClass(attributeValue: name).map { ProtectionClassName($0).text } ?? name
    }
}

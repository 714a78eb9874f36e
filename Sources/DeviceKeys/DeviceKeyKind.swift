public import TPM

/// What keeps a device key.
public enum DeviceKeyKind: Hashable, Sendable {
    /// A file, no secret from a thief of the whole disk.
    case software
    /// The TPM 2.0 of this machine, which releases it as long as these PCRs stay as they are.
    case tpm2(PCRSelection)

    /// Of the kind whose chip counts wrong passcodes.
    public static let guardedName = "tpm2"

    /// As `status` and a policy call it.
    public var name: String {
        switch self {
        case .software: "software"
        case .tpm2: Self.guardedName
        }
    }
}

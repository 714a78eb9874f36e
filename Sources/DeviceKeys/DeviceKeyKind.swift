public import TPM

/// How a device key is kept.
public enum DeviceKeyKind: Hashable, Sendable {
    /// In a plain file, which a thief of the whole disk can read.
    case software
    /// Sealed by the TPM 2.0 of this machine, which releases it while these PCRs keep their values.
    case tpm2(PCRSelection)

    /// The name of the kind whose chip counts wrong passcodes.
    public static let guardedName = "tpm2"

    /// The name in `status` and in a policy.
    public var name: String {
        switch self {
        case .software: "software"
        case .tpm2: Self.guardedName
        }
    }
}

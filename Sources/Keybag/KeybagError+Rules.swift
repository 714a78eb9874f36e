extension KeybagError {
    /// What a person is told whose wish goes against what the passcodes of a vault are; nil for other errors.
    public var rule: String? {
        switch self {
        case .passcodesNeedTPM:
            "the passcode has a part in a TPM, and this device key is a file: it opens nothing here. Open the vault with "
                + "latchkey mount --recovery, or where the TPM is"
        case .onePasscodeOnly:
            "the TPM would count each try of one passcode as a wrong one of the other: a vault with its device key in a TPM has "
                + "one. latchkey passwd changes it; key files and recovery keys may be several"
        case .hasNoPasscode:
            "the vault has no passcode, and would stay open to all beside this one. latchkey passwd gives it one"
        default: nil
        }
    }
}

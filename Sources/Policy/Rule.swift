/// What an administrator demands, and in which line.
public struct Rule<Value: Hashable & Sendable>: Hashable, Sendable {
    public let value: Value
    /// The first line of a file is 1.
    public let line: Int

    public init(_ value: Value, line: Int) {
        self.value = value
        self.line = line
    }
}

/// The rules, by their names in the file.
public enum RuleName: String, Hashable, Sendable, CaseIterable {
    case minimumPasscodeStrength = "minimum-passcode-strength"
    case defaultClass = "default-class"
    case minimumClass = "minimum-class"
    case longestGrace = "longest-grace"
    case lockWhenIdleAfter = "lock-when-idle-after"
    case eraseAfter = "erase-after"
    case requiredEscrowKey = "required-escrow-key"
    case allowedDeviceKeys = "allowed-device-keys"
}

/// What keeps a device key.
public enum DeviceKeyKind: String, Hashable, Sendable, CaseIterable {
    /// A file.
    case software
    case tpm2
}

/// The key of an organisation for which each vault must have a slot.
public enum RequiredEscrowKey: Hashable, Sendable {
    /// An X25519 public key of 32 bytes.
    case key([UInt8])
    /// In the PEM file at this absolute path, which has not been read.
    case file(String)
}

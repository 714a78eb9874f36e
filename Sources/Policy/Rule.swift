/// One value that the administrator has set, and its line.
public struct Rule<Value: Hashable & Sendable>: Hashable, Sendable {
    public let value: Value
    /// Counted from 1.
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
    case longestHold = "longest-hold"
    case lockWhenIdleAfter = "lock-when-idle-after"
    case forgetAfter = "forget-after"
    case freshness
    case eraseAfter = "erase-after"
    case requiredEscrowKey = "required-escrow-key"
    case allowedDeviceKeys = "allowed-device-keys"
    case requiredLockSources = "required-lock-sources"
}

/// Where a device key is stored.
public enum DeviceKeyKind: String, Hashable, Sendable, CaseIterable {
    /// In a file.
    case software
    case tpm2
}

/// What a mount does with files that are older than this machine has seen, the weakest first.
public enum FreshnessLevel: String, Hashable, Sendable, CaseIterable, Comparable {
    /// It remembers and compares nothing.
    case off
    case warn
    /// It refuses them.
    case strict

    public static func < (left: FreshnessLevel, right: FreshnessLevel) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .off: 0
        case .warn: 1
        case .strict: 2
        }
    }
}

/// An organisation's key, for which each vault must have a slot.
public enum RequiredEscrowKey: Hashable, Sendable {
    /// An X25519 public key of 32 bytes.
    case key([UInt8])
    /// In the PEM file at this absolute path, which has not been read.
    case file(String)
}

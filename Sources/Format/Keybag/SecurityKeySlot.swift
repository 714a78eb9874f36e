/// The bundle, wrapped with a key from a FIDO2 security key's secret and the device key.
public struct SecurityKeySlot: Hashable, Sendable {
    /// Sizes of a credential ID, in bytes.
    public static let identifierRange: ClosedRange<Int> = 1...1024
    public static let saltByteCount = 32

    /// What the security key demands of the user each time it derives the secret.
    public struct Demands: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The key's PIN.
        public static let verification = Self(rawValue: 1)
        /// A touch.
        public static let presence = Self(rawValue: 2)

        static let all: Self = [.verification, .presence]
    }

    public let head: SlotHead
    public let demands: Demands
    /// The credential ID, by which the security key finds the credential.
    public let identifier: [UInt8]
    /// The input from which the security key derives the secret.
    public let salt: [UInt8]
    public let wrappedBundle: [UInt8]
    public let label: SlotLabel

    public init(
        _ head: SlotHead, demands: Demands, identifier: [UInt8], salt: [UInt8], wrappedBundle: [UInt8],
        label: SlotLabel
    ) {
        precondition(Demands.all.isSuperset(of: demands))
        precondition(Self.identifierRange ~= identifier.count && salt.count == Self.saltByteCount)
        precondition(wrappedBundle.count == KeybagSlot.wrappedBundleByteCount)
        self.head = head
        self.demands = demands
        self.identifier = identifier
        self.salt = salt
        self.wrappedBundle = wrappedBundle
        self.label = label
    }

    init(decoding value: [UInt8]) throws(FormatError) {
        var reader = KeybagReader(value)
        head = try SlotHead(&reader)
        demands = Demands(rawValue: try reader.integer(as: UInt8.self))
        guard Demands.all.isSuperset(of: demands) else { throw .badField("demands of a security key") }
        try reader.zeros(1)
        let count = Int(try reader.integer(as: UInt16.self))
        guard Self.identifierRange ~= count else { throw .badField("size of a credential's identifier") }
        salt = try reader.bytes(Self.saltByteCount)
        identifier = try reader.bytes(count)
        wrappedBundle = try reader.bytes(KeybagSlot.wrappedBundleByteCount)
        label = try SlotLabel(decoding: reader.remaining())
    }

    var encoded: [UInt8] {
        var value = head.encoded
        value += [demands.rawValue, 0]
        value.append(littleEndian: UInt16(identifier.count))
        return value + salt + identifier + wrappedBundle + label.bytes
    }
}

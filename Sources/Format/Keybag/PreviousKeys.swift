/// The class keys from before an unfinished key rotation, with which some file keys are still wrapped.
///
/// Layout: docs/FORMAT.md, "Previous keys".
public struct PreviousKeys: Hashable, Sendable {
    public static let classKeysByteCount = 136
    public static let classKeyDByteCount = 40
    static let byteCount = classKeysByteCount + classKeyDByteCount

    /// All four, wrapped with a key that an unlock gives: 136 bytes.
    public let classKeys: [UInt8]
    /// Class key D once more, wrapped with a key from the device key: 40 bytes.
    public var classKeyD: [UInt8]

    public init(classKeys: [UInt8], classKeyD: [UInt8]) {
        precondition(classKeys.count == Self.classKeysByteCount && classKeyD.count == Self.classKeyDByteCount)
        self.classKeys = classKeys
        self.classKeyD = classKeyD
    }

    init(decoding value: [UInt8]) {
        self.init(
            classKeys: Array(value[..<Self.classKeysByteCount]), classKeyD: Array(value[Self.classKeysByteCount...]))
    }

    var encoded: [UInt8] { classKeys + classKeyD }
}

extension KeybagFile {
    /// The incompatible feature of a keybag with previous keys: a program without it would take files with old wraps
    /// for damaged.
    public static let rotatingFeature: UInt32 = 1
}

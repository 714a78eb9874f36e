/// The features that a structure uses beyond format version 1, in three grades.
public struct FeatureBits: Hashable, Sendable {
    /// A program that does not know one of these may read and write.
    public var compatible: UInt32
    /// A program that does not know one of these may read but must not write.
    public var readOnlyCompatible: UInt32
    /// A program that does not know one of these must not read.
    public var incompatible: UInt32

    public static let none = FeatureBits(compatible: 0, readOnlyCompatible: 0, incompatible: 0)

    public init(compatible: UInt32, readOnlyCompatible: UInt32, incompatible: UInt32) {
        self.compatible = compatible
        self.readOnlyCompatible = readOnlyCompatible
        self.incompatible = incompatible
    }

    /// Version 1 defines no features, so each bit is unknown.
    public var canRead: Bool { incompatible == 0 }
    public var canWrite: Bool { incompatible == 0 && readOnlyCompatible == 0 }

    /// The 12 bytes at `offset`.
    public init(_ bytes: RawSpan, at offset: Int) {
        compatible = bytes.integer(at: offset, as: UInt32.self)
        readOnlyCompatible = bytes.integer(at: offset + 4, as: UInt32.self)
        incompatible = bytes.integer(at: offset + 8, as: UInt32.self)
    }

    /// Writes 12 bytes at `offset`.
    public func store(into bytes: inout MutableRawSpan, at offset: Int) {
        bytes.store(compatible, at: offset)
        bytes.store(readOnlyCompatible, at: offset + 4)
        bytes.store(incompatible, at: offset + 8)
    }
}

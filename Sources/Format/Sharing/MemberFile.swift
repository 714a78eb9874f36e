/// A file of `lk.members`: what all machines know of one that works in the vault together with others. docs/FORMAT.md,
/// "Members".
public struct MemberFile: Hashable, Sendable {
    public static let byteCount = 96
    /// The rest is the tag.
    public static let signedByteCount = 64
    static let magic: [UInt8] = Array("LKMEMBR\n".utf8)
    static let version: UInt16 = 1
    /// Low enough that an increment never overflows.
    public static let largestEpoch: UInt64 = 1 << 62
    /// Of the lease, in milliseconds: a record cannot make a program wait for hours.
    public static let leases: ClosedRange<UInt32> = 100...60_000

    /// From 1 to 3.
    public var state: UInt8
    /// In milliseconds.
    public var lease: UInt32
    public var machine: UInt64
    public var epoch: UInt64
    public var writer: UInt64

    public init(state: UInt8, lease: UInt32, machine: UInt64, epoch: UInt64, writer: UInt64) {
        self.state = state
        self.lease = lease
        self.machine = machine
        self.epoch = epoch
        self.writer = writer
    }

    /// Decodes the first 64 of 96 bytes; the caller has checked the tag.
    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount == Self.byteCount else { throw .tooShort }
        guard bytes.array(0..<8) == Self.magic else { throw .wrongMagic }
        let version = bytes.integer(at: 8, as: UInt16.self)
        guard version == Self.version else { throw .unknownVersion(version) }
        state = bytes.integer(at: 10, as: UInt8.self)
        guard 1...3 ~= state else { throw .badField("state") }
        lease = bytes.integer(at: 12, as: UInt32.self)
        guard Self.leases.contains(lease) else { throw .badField("lease") }
        machine = bytes.integer(at: 16, as: UInt64.self)
        epoch = bytes.integer(at: 24, as: UInt64.self)
        writer = bytes.integer(at: 32, as: UInt64.self)
        guard epoch <= Self.largestEpoch else { throw .badField("epoch") }
        guard bytes.isZero(11..<12), bytes.isZero(40..<Self.signedByteCount) else { throw .badField("reserved") }
    }

    /// Bytes 0 to 63; the caller appends the tag.
    public var encoded: [UInt8] {
        var result = [UInt8](repeating: 0, count: Self.signedByteCount)
        var elements = result.mutableSpan
        var bytes = unsafe elements.mutableBytes
        bytes.store(Self.magic, at: 0)
        bytes.store(Self.version, at: 8)
        bytes.store(state, at: 10)
        bytes.store(lease, at: 12)
        bytes.store(machine, at: 16)
        bytes.store(epoch, at: 24)
        bytes.store(writer, at: 32)
        return result
    }
}

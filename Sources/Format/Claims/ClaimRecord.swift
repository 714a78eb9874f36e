/// A file of `lk.claims`: which daemon works with the vault, or did. docs/FORMAT.md, "Claims".
///
/// It has no MAC: it is read before any key is there. An attacker who writes to the vault can keep a program out by it,
/// as by removing the keybag, and learns nothing by it. Its sum tells a record that is half written.
public struct ClaimRecord: Hashable, Sendable {
    public static let byteCount = 256
    static let summedByteCount = 224
    static let magic: [UInt8] = Array("LKCLAIM\n".utf8)
    static let version: UInt16 = 1
    /// Of the lease, in milliseconds: a record cannot make a program wait for hours.
    public static let leases: ClosedRange<UInt32> = 100...60_000
    /// Bytes of the sealed host name.
    public static let sealedHostByteCount = 80
    /// Low enough that an increment never overflows.
    public static let largestEpoch: UInt64 = 1 << 62

    public enum State: UInt8, Sendable {
        /// Another claim is being taken over; the daemon writes nothing else yet.
        case taking = 1
        case held = 2
        /// The daemon has ended its work.
        case released = 3
    }

    /// A process on a machine, as far as a process of the same machine can tell.
    public struct Process: Hashable, Sendable {
        /// Inode of the namespace that counts process IDs.
        public var namespace: UInt64
        public var identifier: UInt64
        /// In clock ticks since boot.
        public var started: UInt64

        public init(namespace: UInt64, identifier: UInt64, started: UInt64) {
            self.namespace = namespace
            self.identifier = identifier
            self.started = started
        }
    }

    public var state: State
    /// Whether the daemon writes the record anew in each third of the lease, and not only when another one asks.
    public var renews: Bool
    /// Whether several machines have this claim together; docs/FORMAT.md, "Members", has the record of each.
    public var isShared = false
    /// In milliseconds.
    public var lease: UInt32
    public var epoch: UInt64
    /// Grows with each renewal.
    public var renewals: UInt64 = 0
    /// Seconds since 1970 by the daemon's clock, for people: no decision depends on it.
    public var written: UInt64 = 0
    /// 16 bytes each: digests with the salt, so that the records of two vaults do not show that one machine wrote both.
    public var machine: [UInt8]
    public var boot: [UInt8]
    /// 16 random bytes, of this daemon alone; the salt.
    public var daemon: [UInt8]
    public var process: Process
    /// `st_dev` and `st_ino` of the vault's folder, as this boot of this machine sees it.
    public var folder: (device: UInt64, inode: UInt64) {
        get { (device, inode) }
        set { (device, inode) = newValue }
    }
    private var device: UInt64 = 0
    private var inode: UInt64 = 0
    /// Encrypted under a key of the volume; nil if it was not known.
    public var host: [UInt8]?

    public init(
        state: State, renews: Bool, lease: UInt32, epoch: UInt64, machine: [UInt8], boot: [UInt8], daemon: [UInt8],
        process: Process
    ) {
        precondition(machine.count == 16 && boot.count == 16 && daemon.count == 16, "16 bytes each")
        self.state = state
        self.renews = renews
        self.lease = lease
        self.epoch = epoch
        self.machine = machine
        self.boot = boot
        self.daemon = daemon
        self.process = process
    }

    /// Decodes the first 224 of 256 bytes; the caller has checked the sum.
    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount == Self.byteCount else { throw .tooShort }
        guard bytes.array(0..<8) == Self.magic else { throw .wrongMagic }
        let version = bytes.integer(at: 8, as: UInt16.self)
        guard version == Self.version else { throw .unknownVersion(version) }
        guard let state = State(rawValue: bytes.integer(at: 10, as: UInt8.self)) else { throw .badField("state") }
        self.state = state
        let flags = bytes.integer(at: 11, as: UInt8.self)
        guard flags <= 7 else { throw .badField("flags") }
        renews = flags & 1 != 0
        isShared = flags & 4 != 0
        lease = bytes.integer(at: 12, as: UInt32.self)
        guard Self.leases.contains(lease) else { throw .badField("lease") }
        epoch = bytes.integer(at: 16, as: UInt64.self)
        guard epoch <= Self.largestEpoch else { throw .badField("epoch") }
        renewals = bytes.integer(at: 24, as: UInt64.self)
        written = bytes.integer(at: 32, as: UInt64.self)
        machine = bytes.array(40..<56)
        boot = bytes.array(56..<72)
        daemon = bytes.array(72..<88)
        process = Process(
            namespace: bytes.integer(at: 88, as: UInt64.self), identifier: bytes.integer(at: 96, as: UInt64.self),
            started: bytes.integer(at: 104, as: UInt64.self))
        device = bytes.integer(at: 112, as: UInt64.self)
        inode = bytes.integer(at: 120, as: UInt64.self)
        if flags & 2 != 0 { host = bytes.array(128..<208) }
        guard bytes.isZero(208..<Self.summedByteCount), host != nil || bytes.isZero(128..<208) else {
            throw .badField("reserved")
        }
    }

    /// Bytes 0 to 223; the caller appends their sum.
    public var encoded: [UInt8] {
        var result = [UInt8](repeating: 0, count: Self.summedByteCount)
        var elements = result.mutableSpan
        var bytes = unsafe elements.mutableBytes
        bytes.store(Self.magic, at: 0)
        bytes.store(Self.version, at: 8)
        bytes.store(state.rawValue, at: 10)
        bytes.store((renews ? 1 : 0) | (host == nil ? 0 : 2) | (isShared ? 4 : 0) as UInt8, at: 11)
        bytes.store(lease, at: 12)
        bytes.store(epoch, at: 16)
        bytes.store(renewals, at: 24)
        bytes.store(written, at: 32)
        bytes.store(machine, at: 40)
        bytes.store(boot, at: 56)
        bytes.store(daemon, at: 72)
        bytes.store(process.namespace, at: 88)
        bytes.store(process.identifier, at: 96)
        bytes.store(process.started, at: 104)
        bytes.store(device, at: 112)
        bytes.store(inode, at: 120)
        if let host { bytes.store(host, at: 128) }
        return result
    }
}

public import Posix
import Synchronization

/// One mount of a file system: created, mounted, started and waited for, each once.
///
/// Thread-safe. Requests are served from `start` until `wait` returns.
@safe
public final class Session: Sendable {
    let fileSystem: any FileSystem
    let configuration: Configuration
    let stale = StaleAnswers()
    let interrupts = Interrupts()
    /// Makes the kernel drop what it has cached.
    public let notifier = Notifier()
    private let state = Mutex(State())
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let transportUse = Monitor(TransportUse.open)
    /// The kernel sends the extended struct fuse_setxattr_in.
    let hasExtendedAttributes = Atomic(false)
    /// The mount was used since the last `takeUse`.
    let wasUsed = Atomic(false)
    /// Only the user who mounts and root may use the mount.
    let allowsOnlyRoot = Atomic(false)
    var isAttributeExtended: Bool { hasExtendedAttributes.load(ordering: .relaxed) }

    struct State {
        var phase = Phase.new
        var point: MountPoint?
        var isInitialized = false
        /// The connection to the kernel, from the mount until the end.
        var device: FuseDevice?
        var rings: Rings?
        /// The threads that serve requests; `wait` joins them.
        var workers: [Worker] = []
        /// The first error that ended a worker.
        var failure: Errno?
    }

    enum Phase {
        case new
        case mounted
        case running
        case ended
    }

    public init(fileSystem: any FileSystem, configuration: Configuration = Configuration()) {
        self.fileSystem = fileSystem
        self.configuration = configuration
    }

    deinit {
        // Mounted and never started: programs that wait for an answer get ENOTCONN.
        guard state.withLock({ $0.phase == .mounted }) else { return }
        if let point = state.withLock({ $0.point }), point.isStillMounted { try? detach(point, lazily: true) }
        use.close()
    }

    var use: UseCount { notifier.use }

    /// The absolute path of the mount; nil before it is mounted.
    public var mountPoint: Path? { state.withLock { $0.point?.path } }

    /// The st_dev of all files in the mount; nil before it is mounted.
    public var deviceNumber: UInt64? { state.withLock { $0.point?.device } }

    func withState<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try state.withLock { state throws(Failure) in try body(&state) }
    }

    /// By which way requests come.
    public var transport: TransportUse { transportUse.withLock { $0 } }

    /// The same, once the kernel has said what it offers, which it does right after `start`; or after that time.
    public func transport(within time: Duration) -> TransportUse {
        let end = MonotonicClock.now + time
        return transportUse.wait(atMost: { end - MonotonicClock.now }, { $0 == .open ? nil : $0 }) ?? .open
    }

    func decide(_ transport: TransportUse) {
        transportUse.withLock { $0 = transport }
        transportUse.wakeAll()
    }

    /// The connection to the kernel; only for a session that is mounted and has not ended.
    var device: FuseDevice {
        guard let device = state.withLock({ $0.device }) else { preconditionFailure("not mounted") }
        return device
    }

    /// Nil if requests come from /dev/fuse alone.
    var rings: Rings? { state.withLock { $0.rings } }

    /// A request was answered.
    func answered(_ unique: UInt64) {
        interrupts.remove(unique)
        use.release()
    }
}

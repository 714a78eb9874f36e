import CFuse
import Glibc
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
    /// Makes the kernel drop what it has cached.
    public let notifier = Notifier()
    private let state = Mutex(State())
    /// The kernel sends the extended struct fuse_setxattr_in.
    let hasExtendedAttributes = Atomic(false)
    /// The mount was used since the last `takeUse`.
    let wasUsed = Atomic(false)
    var isAttributeExtended: Bool { hasExtendedAttributes.load(ordering: .relaxed) }

    struct State {
        var phase = Phase.new
        var point: MountPoint?
        var isInitialized = false
        /// The threads that serve requests; `wait` joins them.
        var workers: [Worker] = []
        /// The first error that ended a worker.
        var failure: Errno?
    }

    enum Phase {
        case new
        /// The address of the struct fuse_session.
        case mounted(UInt)
        case running(UInt)
        case ended
    }

    public init(fileSystem: any FileSystem, configuration: Configuration = Configuration()) {
        self.fileSystem = fileSystem
        self.configuration = configuration
    }

    deinit {
        // Mounted and never started: programs that wait for an answer get ENOTCONN.
        guard case .mounted(let address) = state.withLock({ $0.phase }) else { return }
        let raw = unsafe OpaquePointer(bitPattern: address)!
        if let point = state.withLock({ $0.point }), point.isStillMounted { try? detach(point, lazily: true) }
        use.close()
        unsafe fuse_session_unmount(raw)
        unsafe fuse_session_destroy(raw)
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

    /// The session of a request. Its threads keep it alive, and `wait` waits for the last answer.
    static func of(_ request: fuse_req_t) -> Session {
        unsafe Unmanaged<Session>.fromOpaque(fuse_req_userdata(request)).takeUnretainedValue()
    }
}

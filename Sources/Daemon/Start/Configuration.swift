import Control
import Crypto
public import Failure
import Format
import Logging
import Mount
public import Posix

/// The parameters of a daemon.
public struct Configuration: Sendable {
    /// The absolute paths of the vault and of the folder on which it is mounted.
    public var vault: Path
    public var mountPoint: Path
    /// Mount options as the kernel and fusermount3 take them.
    public var options: [String] = []
    /// What the mount table shows as the source; nil if an option says that.
    public var source: Path?
    public var readOnly = false
    /// Whether to close the bare mount point: `BareMountPoint`.
    public var guardsMountPoint = false
    /// The grace period: from a lock until its keys are evicted.
    public var grace = Duration.seconds(10)
    public var whenLocked = WhenLocked.fail
    /// The time without use after which the mount locks itself; nil for never.
    public var lockWhenIdle: Duration?
    /// How long class C's key stays while the mount is locked; nil for ever.
    public var forgetAfter: Duration?
    /// A policy that applies in addition to the machine's.
    public var policyPath: String?
    /// The file with the device key; nil for the default path.
    public var deviceKeyPath: Path?
    /// Whether to mount in a store that loses data.
    public var acceptsStoreRisk = false
    /// The class that the root folder of the vault is to have; nil for the one that it has.
    public var rootClass: ProtectionClass?
    /// A credential to unlock with at once. It is proven before the mount is made.
    public var unlock: Unlock?
    /// The program's version, for the status.
    public var version: String
    public var socketDirectory = SocketDirectory.standard
    /// Whether to detach from the terminal and the working folder. The command must not use standard input or standard
    /// error after that.
    public var isDetached = false
    public var log = LogDestination.standardError
    public var logLevel = Logger.Level.info
    /// The descriptor for one line that says whether the daemon has started; see `Readiness`.
    public var readiness: Descriptor?
    /// Describes a failure that has no error of its own in the control interface.
    public var words: @Sendable (Failure) -> String = { "\($0)" }
    /// How long the daemon may change the vault without a look at its claim; nil for the usual time, and to renew the
    /// claim only on a store that is not local.
    public var lease: Duration?
    /// Whether to take the vault over from another machine without waiting.
    public var takesOver = false
    /// Whether other machines work with the vault at the same time.
    public var isShared = false
    /// Called once if the daemon waits for another machine's claim, as `ClaimOptions.waiting`.
    public var waiting: @Sendable (String?, Int) -> Void = { _, _ in }
    /// What happens to files that are older than what this machine has seen.
    public var freshness = FreshnessChoice.warn
    /// The vault was restored on purpose: what this machine remembers of its files begins anew.
    public var isRestored = false

    public enum FreshnessChoice: Sendable {
        case warn
        /// They are refused.
        case strict
        /// Nothing is remembered.
        case off
    }

    /// By which way the kernel's requests come.
    public var transport = TransportChoice.automatic
    /// Number of threads that serve requests.
    public var threads = 16

    public enum TransportChoice: Sendable {
        /// io_uring where the kernel allows it.
        case automatic
        /// The command has seen that the kernel offers io_uring.
        case ring
        case device
    }

    /// Throws if the command that has started this daemon has ended, by Ctrl-C for example: nothing is to be mounted
    /// then. A daemon in the foreground is that command.
    func checkIsAwaited() throws(Failure) {
        if isDetached, let readiness, !Readiness.isAwaited(on: readiness) {
            throw .io(.EPIPE, doing: "tell the command that has started the daemon")
        }
    }

    /// Names the vault among copies of it, which have the same volume ID.
    var vaultHash: String {
        String(hexadecimal: Array(unsafe sha256(vault.bytes.span.bytes).prefix(8)))
    }

    public struct Unlock: Sendable {
        public var opener: Opener
        /// The reading end of a pipe, or a file, with the passcode or the recovery key's text.
        public var secret: Descriptor

        public init(_ opener: Opener, secret: Descriptor) {
            self.opener = opener
            self.secret = secret
        }
    }

    public init(vault: Path, mountPoint: Path, version: String) {
        self.vault = vault
        self.mountPoint = mountPoint
        self.version = version
    }
}

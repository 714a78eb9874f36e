import Control
public import Failure
import Logging
import Mount
import Posix

/// What a daemon is started with.
public struct Configuration: Sendable {
    /// The paths of the vault and of the folder where it is mounted, absolute.
    public var vault: String
    public var mountPoint: String
    /// Mount options as the kernel and fusermount3 take them.
    public var options: [String] = []
    public var readOnly = false
    /// The time between a lock and the end of the keys.
    public var grace = Duration.seconds(10)
    public var whenLocked = WhenLocked.fail
    /// The time without use after which it locks by itself; nil for never.
    public var lockWhenIdle: Duration?
    /// A policy that has to be kept besides the machine's.
    public var policyPath: String?
    /// The file that holds the device key; nil for its default place.
    public var deviceKeyPath: String?
    /// A passcode or recovery key to unlock with at once. It is proven before anything is mounted.
    public var unlock: Unlock?
    /// What the daemon says that it is, in a status.
    public var version: String
    public var socketDirectory = SocketDirectory.standard
    /// Whether to leave the terminal and the working folder behind. The command has no more to say on standard error
    /// then, and no more to read.
    public var isDetached = false
    public var log = LogDestination.standardError
    public var logLevel = Logger.Level.info
    /// Where one line tells whether the daemon has started; see `Readiness`.
    public var readiness: Descriptor?
    /// What another program, to whose interface a failure is only `Failed`, is told of it.
    public var words: @Sendable (Failure) -> String = { "\($0)" }
    /// Threads that serve requests.
    public var threads = 16

    public struct Unlock: Sendable {
        public var opener: Opener
        /// The reading end of a pipe, or a file, which holds the passcode or the recovery key's text.
        public var secret: Descriptor

        public init(_ opener: Opener, secret: Descriptor) {
            self.opener = opener
            self.secret = secret
        }
    }

    public init(vault: String, mountPoint: String, version: String) {
        self.vault = vault
        self.mountPoint = mountPoint
        self.version = version
    }
}

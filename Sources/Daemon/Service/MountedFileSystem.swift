import Administration
import Control
import Crypto
public import Failure
import Format
public import Mount
import Posix

/// The mounted file system, as the daemon drives it. Safe for any number of threads.
///
/// `classKeys`, `openFiles`, `fileKeysInMemory`, `evictionProgress`, `waitingRequests`, `refusals`, `freshness`,
/// `rotation` and `classes` never wait for the vault's disk: a lock waits for them.
public protocol MountedFileSystem: AnyObject, Sendable {
    /// Serves until the file system is unmounted and its last use has ended.
    func run()

    /// From this time of the boot clock on, contents that a lock of this depth closes are refused, even before `evict`
    /// is called. An earlier deadline stands; new keys take all of them back. Does not wait.
    func setDeadline(_ deadline: Duration, _ depth: LockDepth)

    /// Moves the deadline of a lock of this depth, also to a later time: a program holds the lock, or does not any
    /// more. Only before the present deadline, and while no key is being evicted. Does not wait.
    func moveDeadline(to deadline: Duration, _ depth: LockDepth)

    /// Takes back all deadlines. Does not wait.
    func cancelDeadlines()

    /// Wipes the keys of class A, of closed files of B and, in a deep lock, of C; returns when they are wiped.
    func evict(_ depth: LockDepth) -> Eviction

    /// The classes whose existing files can be opened now.
    var classKeys: [ProtectionClass] { get }
    var openFiles: [ProtectionClass: Int] { get }
    var fileKeysInMemory: Int { get }
    /// Number of requests that wait for the next unlock.
    var waitingRequests: Int { get }

    /// Answers the requests that wait with EINTR, and lets none wait until `allowWaiting`. Calls are counted. Does not
    /// wait.
    func interruptWaiting()
    func allowWaiting()

    /// What was refused because it is damaged; nil if nothing was.
    var refusals: Refusals? { get }
    /// What is older than what this machine has seen; nil if it remembers nothing.
    var freshness: Freshness? { get }

    /// What is in the vault now is as it should be: the file of a descriptor in this mount, or everything.
    func accept(_ file: Descriptor?) throws(Failure)
    /// Nil while no eviction runs.
    var evictionProgress: EvictionProgress? { get }
    /// Nil unless some files have previous keys.
    var rotation: Rotation? { get }

    /// Starts to rewrap files for the new keys, or starts another walk.
    func rotate()

    /// The classes of open files, by their inode numbers in the mount; nil for an inode that is no open file.
    func classes(ofInodes inodes: [UInt64]) -> [ProtectionClass?]

    /// What protects the file of a descriptor in this mount; O_PATH is enough. With a name, an entry of that folder.
    func explain(_ file: Descriptor, _ name: Name?, in state: Status.State) throws(Failure) -> Explanation

    /// By which way requests come. Waits for nothing.
    var transport: Transport { get }

    /// Whether the mount was used since the last call.
    func takeUse() -> Bool

    /// Whether programs can change nothing: the mount is read-only, or was remounted so and all that was written before
    /// lies in the vault's folder. Waits for nothing.
    var isReadOnly: Bool { get }

    /// Follows a remount, and returns when `isReadOnly` is what the kernel does.
    func remounted(readOnly: Bool)

    /// Makes all written data durable.
    func synchronize()

    /// From now on `synchronize` fails after some seconds if the vault's disk does not answer: the process is about to
    /// end. Does not wait.
    func hurryToEnd()

    /// Unmounts, or throws `busy`. Lazily, the mount disappears at once, and `run` returns when its last use has ended.
    func unmount(lazily: Bool) throws(Failure)

    /// Wipes every key of the process, even those in use. The process must end soon after this: a thread that goes on
    /// to use a key blocks for good.
    func forgetAllKeys()

    /// Fails all requests, present and future. Ends the process if it has not ended soon after.
    func disconnect()
}

/// By which way requests come, as a status says it.
public struct Transport: Hashable, Sendable {
    public var way: Status.Transport
    /// Why it is not io_uring.
    public var reason: Status.NoRing?

    public init(_ way: Status.Transport, because reason: Status.NoRing? = nil) {
        self.way = way
        self.reason = reason
    }
}

/// The result of an eviction.
public struct Eviction: Hashable, Sendable {
    public var duration: Duration
    public var inodes: Int
    /// Number of passes over the inodes, until one found no new pages.
    public var passes: Int

    public init(duration: Duration, inodes: Int, passes: Int) {
        self.duration = duration
        self.inodes = inodes
        self.passes = passes
    }
}

/// The progress of an eviction.
public struct EvictionProgress: Hashable, Sendable {
    public var phase: Status.EvictionPhase
    /// Number of inodes left in this pass; nil unless pages are being dropped.
    public var inodesToInvalidate: Int?

    public init(phase: Status.EvictionPhase, inodesToInvalidate: Int? = nil) {
        self.phase = phase
        self.inodesToInvalidate = inodesToInvalidate
    }
}

/// Tells a right credential from a wrong one. Safe for any number of threads.
public protocol Keyholder: AnyObject, Sendable {
    /// Proves a credential. Takes as long as the passcode's derivation, and changes nothing.
    ///
    /// - Throws: `wrongPasscode`, `wrongRecoveryKey`, `tampered`, `damaged` and others.
    func prove(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> any ProvenKeys

    func changePasscode(
        _ opener: Opener, from old: borrowing Secret, to new: borrowing Secret, allowingWeak: Bool
    ) throws(Failure)

    /// Destroys what releases the keys; returns the device key's fate, or "" if it is kept.
    func erase(keepingDeviceKey: Bool) throws(Failure) -> String
    /// Removes the chip's counter of a destroyed device key; gives up after two seconds.
    func removeCounter()

    /// The slots of the vault.
    var slots: [Slot] { get }

    /// Adds a slot; `secret` opens the vault now.
    func addSlot(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(Failure) -> Int

    func removeSlot(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(Failure)

    /// The number of the slot that the secret opens.
    func testSlot(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> Int

    /// Whether files may have previous keys. Waits for no disk.
    var isRotating: Bool { get }

    /// Begins a rotation: makes new class keys.
    ///
    /// - Parameters:
    ///   - recoveryKey: the text of a new one.
    ///   - dropping: the numbers of the slots that are removed.
    func beginRotation(
        opening opener: Opener, _ secret: borrowing Secret, recoveryKey: borrowing Secret?, dropping: [Int]
    ) throws(Failure)
}

/// Class keys that a credential has released. They are wiped if they are not admitted.
public protocol ProvenKeys: AnyObject, Sendable {
    /// Installs them in the mount, which opens all classes. Call it at most once.
    func admit() throws(Failure)
}

import Administration
import Control
import Crypto
public import Failure
import Format
import Posix

/// The mounted file system, as the daemon drives it. Thread-safe.
///
/// `classKeys`, `openFiles`, `fileKeysInMemory`, `evictionProgress`, `waitingRequests`, `rotation` and `classes` answer at once,
/// whatever the vault's disk does: a lock waits for them.
public protocol MountedFileSystem: AnyObject, Sendable {
    /// Returns when the file system is unmounted and its last user has gone.
    func run()

    /// From this time of the boot clock on contents of A, and of B's closed files, are refused, whenever `evict` is called;
    /// nil, or new keys, take that back. Waits for nobody.
    func setDeadline(_ deadline: Duration?)

    /// Takes the keys of class A and of B's closed files out of memory; returns when they are gone.
    func evict() -> Eviction

    /// The classes whose existing files can be opened now.
    var classKeys: [ProtectionClass] { get }
    var openFiles: [ProtectionClass: Int] { get }
    var fileKeysInMemory: Int { get }
    /// How many requests wait for the next unlock.
    var waitingRequests: Int { get }
    /// Nil while no eviction runs.
    var evictionProgress: EvictionProgress? { get }
    /// Nil unless files have old keys.
    var rotation: Rotation? { get }

    /// Files have old keys by now, or are to be looked at again.
    func rotate()

    /// The classes of files that are open, by their inode numbers in the mount; nil for what is no open file.
    func classes(ofInodes inodes: [UInt64]) -> [ProtectionClass?]

    /// What protects the file behind a descriptor of this mount, which O_PATH may have made.
    func explain(_ file: Descriptor, in state: Status.State) throws(Failure) -> Explanation

    /// Whether anybody has used the mount since this was last asked.
    func takeUse() -> Bool

    /// Makes durable what was written.
    func synchronize()

    /// Unmounts, or throws `busy`; lazily the mount disappears at once, and `run` returns when its last user has gone.
    func unmount(lazily: Bool) throws(Failure)

    /// Wipes every key of the process, in use or not. It has to end soon after this: a thread that goes on to use a key stands
    /// still.
    func forgetAllKeys()

    /// Ends all requests, under way or to come, with an error, and the process itself if it has not ended soon after.
    func disconnect()
}

/// What taking the keys out took.
public struct Eviction: Hashable, Sendable {
    public var duration: Duration
    public var inodes: Int
    /// How often the inodes were gone over until nothing came after.
    public var passes: Int

    public init(duration: Duration, inodes: Int, passes: Int) {
        self.duration = duration
        self.inodes = inodes
        self.passes = passes
    }
}

/// How far an eviction has come.
public struct EvictionProgress: Hashable, Sendable {
    public var phase: Status.EvictionPhase
    /// Inodes left in this pass, while pages are dropped.
    public var inodesToInvalidate: Int?

    public init(phase: Status.EvictionPhase, inodesToInvalidate: Int? = nil) {
        self.phase = phase
        self.inodesToInvalidate = inodesToInvalidate
    }
}

/// What can tell a right passcode from a wrong one. Thread-safe.
public protocol Keyholder: AnyObject, Sendable {
    /// Takes as long as the passcode's derivation, and changes nothing.
    ///
    /// - Throws: `wrongPasscode`, `wrongRecoveryKey`, `tampered`, `damaged` and others.
    func prove(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> any ProvenKeys

    func changePasscode(
        _ opener: Opener, from old: borrowing Secret, to new: borrowing Secret, allowingWeak: Bool
    ) throws(Failure)

    /// Destroys what releases the keys.
    func erase() throws(Failure) -> String

    /// The ways in.
    var slots: [Slot] { get }

    /// Adds a way in; `secret` opens the vault now.
    func addSlot(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(Failure) -> Int

    func removeSlot(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(Failure)

    /// The slot that the secret opens.
    func testSlot(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> Int

    /// Whether files may have old keys. Answers at once.
    var isRotating: Bool { get }

    /// Makes new class keys.
    ///
    /// - Parameters:
    ///   - recoveryKey: a new one, as text.
    ///   - dropping: the slots that go.
    func beginRotation(
        opening opener: Opener, _ secret: borrowing Secret, recoveryKey: borrowing Secret?, dropping: [Int]
    ) throws(Failure)
}

/// The class keys that a passcode has released, on their way into the mount; wiped if they never get there.
public protocol ProvenKeys: AnyObject, Sendable {
    /// Hands them to the mount, which opens all classes. At most once.
    func admit() throws(Failure)
}

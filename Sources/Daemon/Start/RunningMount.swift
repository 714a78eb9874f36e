import Administration
import Control
import Crypto
import Failure
import Format
import Glibc
import Keybag
import Logging
import Mount
import Policy
import Posix
import Store
import Synchronization
import Vault

/// A mounted vault and what belongs to it in the daemon: the hold on the vault, the lock, the signals and the
/// control socket.
final class RunningMount: Sendable {
    /// Nil once the mount has ended. A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let hold: Mutex<VaultHold?>
    /// The store, if it may hang.
    private let bounded: BoundedStore?
    /// The store, if other machines work with the vault at the same time.
    private let sharedStore: (any Store)?
    private let mount: VaultMount
    private let service: MountService
    private let server: ControlServer
    private let log: Logger
    /// One sentence for each promise that does not hold in the store.
    let storeWarnings: [String]
    /// Whether the vault is only read, and this machine has seen a newer keybag of it.
    let hasOlderKeybag: Bool

    private init(
        hold: VaultHold, bounded: BoundedStore?, sharedStore: (any Store)?, mount: VaultMount, service: MountService,
        server: ControlServer,
        log: Logger,
        storeWarnings: [String], hasOlderKeybag: Bool
    ) {
        self.hold = Mutex(hold)
        self.bounded = bounded
        self.sharedStore = sharedStore
        self.mount = mount
        self.service = service
        self.server = server
        self.log = log
        self.storeWarnings = storeWarnings
        self.hasOlderKeybag = hasOlderKeybag
    }

    /// Opens the vault, proves the credential if there is one, mounts, and serves signals, control socket and kernel.
    ///
    /// Makes every thread that the daemon needs. If it throws, the mount is removed again.
    ///
    /// - Parameters:
    ///   - logFile: the file that replaces the system's log, for the status.
    ///   - exit: ends the process, after a second signal.
    static func start(
        _ configuration: Configuration, signals: SignalDescriptor, log: Logger, logFile: String?,
        manager: ServiceManager?,
        exit: @escaping @Sendable () -> Void
    ) throws(Failure) -> RunningMount {
        let policy = try PolicyInForce(configuration)
        let opened = try OpenVault.open(configuration, Self.claim(configuration, signals, log))
        // With a shared vault, it has the turn until the mount is made.
        defer { withExtendedLifetime(opened) {} }
        do throws(Failure) {
            return try start(
                opened, configuration, policy, signals: signals, log: log, logFile: logFile, manager: manager,
                exit: exit)
        } catch {
            opened.giveSharedClaimBack()
            throw error
        }
    }

    private static func start(
        _ opened: OpenVault, _ configuration: Configuration, _ policy: PolicyInForce, signals: SignalDescriptor,
        log: Logger, logFile: String?, manager: ServiceManager?, exit: @escaping @Sendable () -> Void
    ) throws(Failure) -> RunningMount {
        try policy.check(opened.keybag, configuration)
        var keys: ClassKeys?
        // Of a backup that is only read, the newest keybag may need a passcode although its own does not.
        if let unlock = configuration.unlock,
            unlock.opener.kind != .noPasscode || opened.keybag.hasNoPasscode
        {
            keys = try opened.prove(unlock)
        } else if opened.keybag.hasNoPasscode {
            keys = try opened.keysWithoutPasscode()
        }
        opened.warnOfReaders(of: configuration.vault, log)
        opened.warnOfStore(log)
        if opened.keybag.isOlder { log.warning("the keybag is older than the newest one that this machine has seen") }
        ContentsMemory.whenNotLocked { [log] error in
            log.notice("buffers for contents of files may be swapped out: not all can be locked: \(error)")
        }
        // Before the mount is made. A derivation takes a second, in which a person may press Ctrl-C.
        try configuration.checkIsAwaited()
        let socketName = try opened.socketName(configuration)
        let mount = try opened.mount(configuration, policy, log: log)
        // Nil if another program took the last process; then the unmount may fail, which is reported.
        let reserved = try? ReservedProcess()
        do throws(Failure) {
            var facts = MountFacts(configuration, opened, device: mount.device, logFile: logFile)
            facts.longestHold = .seconds(policy.longestHold)
            facts.isSynchronised = opened.keybag.file.isSynchronised
            facts.isShared = configuration.isShared
            facts.noHolds = policy.violationOfHolding?.description
            let lock = try Failure.makingThreads { () throws(Errno) in
                try MountLock(mount: mount, facts: facts, log: log, manager: manager)
            }
            let keyholder = KeybagHolder(
                opened.keybag, mount: mount, deviceKeyPath: opened.deviceKeyPath, policy: policy,
                isShared: configuration.isShared)
            mount.giveNewKeys(of: opened.keybag) { [log] in
                log.notice("all files have the new keys, and the old ones are gone")
                lock.announce(.rotationDidEnd)
            }
            mount.noticeStale { lock.announce(.didFindOlder) }
            if let proven = keys.take() { try keyholder.unlock(lock, with: proven) }

            let socket = configuration.socketDirectory.socket(volume: socketName)
            let unmounter = try Failure.makingThreads { () throws(Errno) in try OnDemandWorker() }
            let ender = try Failure.makingThreads { () throws(Errno) in try OnDemandWorker() }
            let remounter = try Failure.makingThreads { () throws(Errno) in
                // A mount that began read-only stays so: the daemon writes nothing.
                configuration.readOnly ? nil : try OnDemandWorker()
            }
            let thread = SignalThread(
                signals: signals, unmounter: unmounter, ender: ender, remounter: remounter, lock: lock, mount: mount,
                log: log,
                idleLimit: configuration.lockWhenIdle,
                watch: try Failure.when("watch the table of mounts") { () throws(Errno) in
                    try MountWatch(device: mount.device)
                }
            ) {
                unsafe unlink(socket)
                exit()
            }
            try Failure.makingThreads { () throws(Errno) in try thread.start() }
            let service = MountService(lock: lock, mount: mount, keyholder: keyholder, log: log) {
                unsafe unlink(socket)
                exit()
            }
            let server = try serve(service, volume: socketName, device: mount.device, configuration)
            do throws(Failure) {
                try Failure.makingThreads { () throws(Errno) in try mount.start() }
            } catch {
                server.stop()
                throw error
            }
            reserved?.giveBack()
            return RunningMount(
                hold: opened.hold, bounded: opened.bounded,
                sharedStore: configuration.isShared ? opened.store : nil, mount: mount, service: service,
                server: server, log: log,
                storeWarnings: opened.storeFacts.warnings.map(\.sentence), hasOlderKeybag: opened.keybag.isOlder)
        } catch {
            reserved?.giveBack()
            throw mount.unmountUnserved(because: error)
        }
    }

    /// How the vault is claimed: a signal, or the end of the command that has started the daemon, ends the wait.
    private static func claim(
        _ configuration: Configuration, _ signals: SignalDescriptor, _ log: Logger
    ) -> ClaimOptions {
        var options = ClaimOptions()
        options.lease = configuration.lease
        options.takesOver = configuration.takesOver
        options.isShared = configuration.isShared
        options.waiting = { host, seconds in
            log.notice(
                "another machine has not released the vault: waiting whether it still uses it",
                metadata: ["machine": "\(Printable(host ?? "unknown"))", "seconds": "\(seconds)"])
            configuration.waiting(host, seconds)
        }
        options.pause = { time in
            guard let signalled = try? Poll.readable([signals.descriptor], timeout: time), signalled.isEmpty else {
                return false
            }
            do { try configuration.checkIsAwaited() } catch { return false }
            return true
        }
        options.lost = {
            log.error("another machine has taken the vault over: nothing can be read or written here any more")
        }
        return options
    }

    private static func serve(
        _ service: MountService, volume: String, device: UInt64, _ configuration: Configuration
    ) throws(Failure) -> ControlServer {
        let server = try ControlServer(
            service: service, volume: volume, device: device, in: configuration.socketDirectory,
            version: configuration.version, words: configuration.words)
        try server.start()
        return server
    }

    private static let patienceForTurn = Duration.seconds(10)

    var state: Status.State { service.status.state }

    /// Ends a mount that no command waited for: locks and detaches it, so that `run` returns when its last use ends.
    func abandon() {
        do { try service.unmount(lazily: true) } catch { log.error("cannot unmount: \(error)") }
    }

    /// Serves until the file system is unmounted and its last use has ended.
    ///
    /// - Parameter unmounted: called then, before what is dirty is written.
    func run(unmounted: () -> Void = {}) {
        mount.run()
        unmounted()
        if sharedStore == nil { mount.synchronize() }
        log.notice("unmounted")
        // In this order: a client takes the end of its connection for the end of the daemon, and may mount again at
        // once.
        // The last machine releases the claim that all of them share.
        let turn = sharedStore.flatMap { try? SharedTurn(in: $0, patience: Self.patienceForTurn) }
        hold.withLock { hold in
            if bounded?.mayStillChange == true { hold?.leaveClaim() }
            if turn != nil, mount.isLastOfShared { hold?.releaseSharedClaim() }
            hold = nil
        }
        withExtendedLifetime(turn) {}
        service.waitForUnmounts()
        server.stop()
    }
}

extension MountFacts {
    fileprivate init(_ configuration: Configuration, _ opened: OpenVault, device: UInt64, logFile: String?) {
        let keybag = opened.keybag
        self.init(
            mountPoint: configuration.mountPoint, vault: configuration.vault, volume: "\(keybag.volume)",
            device: device,
            grace: configuration.grace, readOnly: configuration.readOnly, version: configuration.version,
            formatVersion: Int(KeybagFile.version), whenLocked: configuration.whenLocked,
            deviceKey: keybag.isGuarded ? "tpm2" : "software", deviceKeyFile: opened.deviceKeyPath,
            lockWhenIdle: configuration.lockWhenIdle, forgetAfter: configuration.forgetAfter,
            hasPasscode: { !keybag.hasNoPasscode }, guesses: { keybag.guessesLeft },
            vaultProof: { keybag.proof?.text }, isTakenOver: opened.hold.takenOver, logFile: logFile)
    }
}

extension KeybagHolder {
    fileprivate func unlock(_ lock: MountLock, with keys: consuming ClassKeys) throws(Failure) {
        _ = try lock.unlock(with: released(keys), since: lock.locks)
    }
}

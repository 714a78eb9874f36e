import Administration
import Control
import DeviceKeys
import Crypto
import Failure
import Format
import Glibc
import Keybag
import Logging
import Mount
import Policy
import Posix
import Sharing
import Store
import Vault

/// A vault before it is mounted: held by this process, its keybag opened with the device key.
struct OpenVault: Sendable {
    let store: any Store
    /// The same, if it may hang.
    let bounded: BoundedStore?
    let hold: VaultHold
    let keybag: OpenKeybag
    let deviceKeyPath: Path
    /// What is known of the store, or was probed under the lock.
    let storeFacts: StoreFacts
    /// Whether changes of other programs in the vault's folder are noticed.
    private let tellsChanges: Bool
    /// Of a vault that other machines work with at the same time: no other process begins before the mount is made.
    private let turn: SharedTurn?

    /// The volume ID in hexadecimal.
    var volume: String { "\(keybag.volume)" }

    init(_ configuration: Configuration, _ claim: ClaimOptions) throws(Failure) {
        let folder: DirectoryStore
        do {
            folder = try DirectoryStore(path: configuration.vault)
        } catch {
            switch error {
            case .ENOENT, .ENOTDIR: throw .notAVault
            default: throw .io(error, doing: "open \(configuration.vault)")
            }
        }
        let identifier = try OpenKeybag.inspect(folder).volume
        turn = try configuration.isShared ? Self.turn(in: folder, claim) : nil
        hold = try VaultHold(
            folder, at: configuration.vault, readOnly: configuration.readOnly, makesLock: true, claim)
        let held = hold.store
        let kind = StoreKind(of: folder)
        tellsChanges = kind.tellsChanges
        bounded = try Failure.makingThreads { () throws(Errno) in
            // A local disk is not worth the way over another thread. The claim is asked behind that way, because a call
            // may have waited for a thread.
            kind.isLocal ? nil : try BoundedStore(held)
        }
        store = bounded ?? held
        storeFacts = StoreProbe.factsForMount(of: store, readOnly: configuration.readOnly)
        try storeFacts.refuse(unless: configuration.acceptsStoreRisk)
        deviceKeyPath = configuration.deviceKeyPath ?? DeviceKeyFile.defaultPath(for: identifier)
        keybag = try OpenKeybag.open(
            in: store, deviceKey: try DeviceKeyLocation.load(path: deviceKeyPath), readOnly: configuration.readOnly)
        hold.tellHost(keybag.keys)
    }

    /// Logs a warning if other users may use the device key.
    func warnOfReaders(of vault: Path, _ log: Logger) {
        let owner = try? store.status(of: store.root).owner
        guard let exposure = DeviceKeyExposure(of: deviceKeyPath, ofVaultOwnedBy: owner) else { return }
        log.warning("\(exposure.reason)", metadata: ["file": .stringConvertible(deviceKeyPath.printable)])
    }

    /// Logs a warning for each promise that does not hold in the store.
    func warnOfStore(_ log: Logger) {
        for finding in storeFacts.warnings {
            log.warning(
                "\(storeFacts.kind.engine), where the vault lies: \(finding.sentence)",
                metadata: ["finding": .string(finding.problem.rawValue)])
        }
    }

    /// The class keys that the configured credential releases.
    func prove(_ unlock: Configuration.Unlock) throws(Failure) -> ClassKeys {
        let secret = try Secret.read(from: unlock.secret)
        return try keybag.unlock(Credential(unlock.opener, reading: secret))
    }

    /// The name of the control socket: the volume ID, unless a copy of the vault is mounted, which has the same.
    ///
    /// A mount that was remounted read-only may be written to again.
    ///
    /// - Throws: `alreadyServed` if both would be written to: their files would go apart under the same IDs, and no
    ///   program could tell which version is the later one.
    func socketName(_ configuration: Configuration) throws(Failure) -> String {
        let others = SocketDirectories([configuration.socketDirectory]).mounts(volume: volume)
        if !configuration.readOnly, let other = others.first(where: { $0.status.alwaysReadOnly != true }) {
            throw .alreadyServed(socket: other.status.mountPoint)
        }
        return others.isEmpty ? volume : "\(volume)-\(configuration.vaultHash)"
    }

    /// The class keys of a vault that has no passcode.
    func keysWithoutPasscode() throws(Failure) -> ClassKeys {
        try keybag.unlock(.nothing())
    }

    /// Makes the mount; no thread serves requests yet.
    func mount(
        _ configuration: Configuration, _ policy: PolicyInForce, log: Logger
    ) throws(Failure) -> VaultMount {
        let descriptorLimit = try Failure.when("raise the limit of open files") { () throws(Errno) in
            try ProcessLimits.raiseOpenFiles()
        }
        // As many as dirty files keep open on most machines. Without them, programs wait now and then.
        try? ProcessLimits.reserveDescriptors(16384)
        let settings = keybag.settings
        let traits = StoreTraits(
            nameMax: Int(settings.nameMaximum),
            recordKind: settings.directoryRecords == .file ? .file : .symbolicLink,
            numbersDirectories: keybag.file.numbersDirectories,
            numbersBlocks: keybag.file.numbersBlocks,
            hasAttributes: storeFacts.takesAttributes, hasHardLinks: storeFacts.linksInodes,
            keepsInodeNumbers: storeFacts.keepsInodeNumbers, pinsOpenInodes: bounded == nil)
        let (freshness, trouble) = try freshness(configuration, log)
        let fence = configuration.isShared ? LeaseFence() : nil
        let vault = Vault(
            store: fence.map { FencedStore(store, $0) } ?? store, keys: keybag.keys, ring: keybag.ring, traits: traits,
            minimumClass: policy.minimumClass ?? .none, isReadOnly: configuration.readOnly,
            tookOver: hold.tookOver, freshness: freshness, machine: keybag.machine,
            sharesStore: bounded != nil, isShared: configuration.isShared)
        let sharing = try fence.map { fence throws(Failure) in try join(vault, fence, configuration) }
        if let rootClass = configuration.rootClass { try setRootClass(rootClass, of: vault, policy) }
        let bare = try configuration.guardsMountPoint ? Self.barePoint(configuration.mountPoint) : nil
        // If the folder cannot be prepared, the mount fails and says why.
        let prepare = { if let bare { try? bare.prepare() } }
        let mount: ProtectedMount
        do {
            mount = try ProtectedMount(
                vault: vault, store: bounded, sharing: sharing, tellsChanges: tellsChanges,
                at: configuration.mountPoint,
                options: configuration.options,
                source: configuration.source, descriptorLimit: Int(clamping: descriptorLimit ?? .max),
                whenLocked: configuration.whenLocked,
                transport: configuration.transport == .device ? .device : .ring,
                hurry: { [weak hold] in hold?.hurry($0) },
                forbidden: { policy.violation(setting: $0)?.description }, beforeMount: prepare
            ) { $0.write(to: log) }
        } catch {
            if let bare { try? bare.restore() }
            // Otherwise other machines would take this one for dead.
            sharing?.leave(isClean: (try? vault.close()) != nil)
            throw Failure(error)
        }
        let served = VaultMount(
            mount, at: configuration.mountPoint, threads: configuration.threads, remembersNothing: trouble, log: log)
        guard let bare else { return served }
        do throws(Errno) {
            try bare.close()
            // While fusermount3 could write to the folder, so could other programs of the user. None can any more.
            if try bare.isEmpty() { return served }
        } catch {
            log.warning("cannot close the bare mount point: a program may write there after the unmount: \(error)")
            return served
        }
        try? bare.restore()
        throw served.unmountUnserved(because: .writtenBeneath(mountPoint: configuration.mountPoint))
    }

    // MARK: Several machines

    private static func turn(in store: any Store, _ claim: ClaimOptions) throws(Failure) -> SharedTurn {
        do throws(Errno) {
            return try SharedTurn(in: store, patience: .seconds(300), pause: claim.pause)
        } catch {
            throw failure(ofTurn: error)
        }
    }

    private static func failure(ofTurn error: Errno) -> Failure {
        switch error {
        case .ECANCELED: .claimGivenUp
        case .ETIMEDOUT: .failed(reason: "another machine has begun to mount the vault, and does not end")
        default: .io(error, doing: "lock bytes of lk.leases")
        }
    }

    /// Opens a vault. Of a shared one, waits until the store has missed a process of this machine that is gone.
    static func open(_ configuration: Configuration, _ claim: ClaimOptions) throws(Failure) -> OpenVault {
        let lease = configuration.lease ?? ClaimOptions.usualLease
        let end = MonotonicClock.now + LeaseTimes(lease: lease).patienceForMachine
        while true {
            if let opened = try open(configuration, claim, isLast: MonotonicClock.now > end) { return opened }
            // Others may begin and end meanwhile: this process has neither the turn nor the claim.
            guard claim.pause(lease / 20) else { throw .claimGivenUp }
        }
    }

    private static func open(
        _ configuration: Configuration, _ claim: ClaimOptions, isLast: Bool
    ) throws(Failure) -> OpenVault? {
        let opened = try OpenVault(configuration, claim)
        guard configuration.isShared, !isLast, let machine = opened.keybag.machine?.machine else { return opened }
        defer { withExtendedLifetime(opened) {} }
        do throws(Failure) {
            guard try opened.isTaken(machine) else { return opened }
            // It lives, and is mounted.
            _ = try opened.socketName(configuration)
            opened.giveSharedClaimBack()
            return nil
        } catch {
            opened.giveSharedClaimBack()
            throw error
        }
    }

    private func isTaken(_ machine: MachineNumber) throws(Failure) -> Bool {
        do { return try VaultSharing.isTaken(machine, store, keybag.keys) } catch { throw Self.failure(ofTurn: error) }
    }

    /// After a mount that has failed: releases the claim if no machine works with the vault. No other process begins
    /// meanwhile.
    func giveSharedClaimBack() {
        if turn != nil, VaultSharing.isUnused(store, keybag.keys) { hold.releaseSharedClaim() }
    }

    private func join(
        _ vault: Vault, _ fence: LeaseFence, _ configuration: Configuration
    ) throws(Failure) -> VaultSharing {
        let sharing: VaultSharing
        do {
            sharing = try VaultSharing(
                vault, base: store, fence, lease: configuration.lease ?? ClaimOptions.usualLease)
        } catch {
            throw Self.failure(ofJoin: error)
        }
        do { try sharing.join() } catch { throw Self.failure(ofJoin: error) }
        return sharing
    }

    private static func failure(ofJoin error: VaultError) -> Failure {
        switch error {
        case .system(.EBUSY): .vaultInUse
        case .damaged(let reason): .damaged(reason: reason)
        case .unsupported(let reason): .unsupported(reason: reason)
        default: .io(error.errno, doing: "begin to work with other machines")
        }
    }

    private static func barePoint(_ path: Path) throws(Failure) -> BareMountPoint {
        try Failure.when("look at the mount point") { () throws(Errno) in try BareMountPoint(path) }
    }
}

import Format
import Posix
import Sharing
import Store
import Synchronization

/// Passes what the protocol asks on to those who have the objects in memory, and replays journals itself.
final class LeaseRelay: LeaseOwner {
    private let vault: Vault
    /// Asks the claim alone.
    private let base: any Store
    private let objects = Mutex<(any SharedObjects)?>(nil)
    /// Why the last replay has failed, of which the protocol knows the number alone.
    let failure = Mutex<VaultError?>(nil)

    init(_ vault: Vault, _ base: any Store) {
        self.vault = vault
        self.base = base
    }

    func serve(_ objects: any SharedObjects) { self.objects.withLock { $0 = objects } }

    func adopt(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) {
        try objects.withLock { $0 }?.adopt(object, kind)
    }

    func settle(_ object: LeaseObject) throws(Errno) { try objects.withLock { $0 }?.settle(object) }

    func forget(_ object: LeaseObject) { objects.withLock { $0 }?.forget(object) }

    func replay(
        _ machine: MachineNumber, _ check: @escaping @Sendable () throws(Errno) -> Void
    ) throws(Errno) {
        do throws(VaultError) { try replay(machine.tag, asking: check) } catch {
            failure.withLock { $0 = error }
            throw error.errno
        }
    }

    /// Replays the journals of machines that have worked alone, and have crashed.
    func replayAll(but own: MachineNumber) throws(VaultError) {
        for entry in try vault.backingEntries(of: base.root) {
            guard let machine = BackingName.machine(ofJournal: entry.name.bytes), machine != own.tag else { continue }
            try replay(machine, asking: {})
        }
    }

    private func replay(
        _ machine: MachineTag, asking check: @escaping @Sendable () throws(Errno) -> Void
    ) throws(VaultError) {
        let vault = vault.replaying(machine, in: FencedStore(base, ReplayFence(check)))
        let name = vault.journalName
        guard let old = try RecoveryJournal(of: vault, named: name), old.head.opened != 0 else { return }
        // As in `recover`: what is in the page cache may not be durable.
        try? base.synchronizeAll()
        let entries = try old.entries()
        try old.replay(entries)
        try old.flushNamedFiles(entries)
        try vault.replace(old, named: name)
    }
}

private final class ReplayFence: Fence {
    private let body: @Sendable () throws(Errno) -> Void

    init(_ body: @escaping @Sendable () throws(Errno) -> Void) { self.body = body }

    func check() throws(Errno) { try body() }
    func beginHurry() {}
    func endHurry() {}
    var isLost: Bool { false }
}

extension Vault {
    /// The same vault for a replay of a machine's journal: another store, and nothing in memory.
    fileprivate func replaying(_ machine: MachineTag, in store: any Store) -> Vault {
        Vault(
            store: store, keys: keys, ring: ring, traits: traits, minimumClass: options.minimumClass,
            isReadOnly: false, isPrivileged: options.isPrivileged, journalSize: options.journalSize, machine: machine,
            isShared: true)
    }
}

import Control
import Crypto
import Daemon
import DeviceKeys
import Failure

/// The slots of a mounted vault, through its daemon.
struct MountedSlots: SlotHolder {
    private let mount: ServedMount

    init(_ mount: ServedMount) { self.mount = mount }

    var vault: String { mount.status.vault }

    var isGuarded: Bool { mount.status.deviceKey == DeviceKeyKind.guardedName }

    func proof() throws(CommandError) -> String? {
        try asking { (client) throws(Failure) in try client.status().vaultProof }
    }

    func list() throws(CommandError) -> [Slot] {
        try asking { (client) throws(Failure) in try client.slots() }
    }

    func add(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(CommandError) -> Int {
        let source: NewSlotSource =
            switch new.secret {
            case .some(let secret) where new.securityKey != nil:
                .securityKey(new.securityKey!, try secret.pipe())
            case .some(let secret): .secret(new.kind, try secret.pipe(), allowingWeak: new.allowsWeak)
            case .none: .escrow(publicKey: new.publicKey)
            }
        let pipe = try secret.pipe()
        return try asking { (client) throws(Failure) in
            try client.addSlot(source, name: name, opening: opener.kind, secret: pipe, mayBeLast: opener.mayBeLast)
        }
    }

    func remove(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(CommandError) {
        let pipe = try secret.pipe()
        try asking { (client) throws(Failure) in
            try client.removeSlot(slot, opening: opener.kind, secret: pipe, mayBeLast: opener.mayBeLast)
        }
    }

    func test(_ opener: Opener, _ secret: borrowing Secret) throws(CommandError) -> Int {
        let pipe = try secret.pipe()
        return try asking { (client) throws(Failure) in
            try client.testSlot(opener.kind, secret: pipe, mayBeLast: opener.mayBeLast)
        }
    }

    private func asking<Result>(
        _ question: (ControlClient) throws(Failure) -> Result
    ) throws(CommandError) -> Result {
        do throws(Failure) { return try question(mount.client) } catch {
            throw CommandError(error, at: mount.status.mountPoint)
        }
    }
}

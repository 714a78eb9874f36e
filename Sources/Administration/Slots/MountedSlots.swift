public import Control
public import Crypto
import DeviceKeys
public import Failure
public import Posix

/// The slots of a mounted vault, through its daemon.
public struct MountedSlots: SlotHolder {
    private let mount: ServedMount

    public init(_ mount: ServedMount) { self.mount = mount }

    public var vault: Path { mount.status.vault }

    public var mountPoint: Path? { mount.status.mountPoint }

    public var isGuarded: Bool { mount.status.deviceKey == DeviceKeyKind.guardedName }

    public var hasNoPasscode: Bool { mount.status.hasPasscode == false }

    public func proof() throws(Failure) -> String? {
        try mount.client.status().vaultProof
    }

    public func list() throws(Failure) -> [Slot] {
        try mount.client.slots()
    }

    public func add(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(Failure) -> Int {
        let source: NewSlotSource =
            switch new.secret {
            case .some(let secret) where new.securityKey != nil:
                .securityKey(new.securityKey!, try secret.pipe())
            case .some(let secret): .secret(new.kind, try secret.pipe(), allowingWeak: new.allowsWeak)
            case .none: .escrow(publicKey: new.publicKey)
            }
        let pipe = try secret.pipe()
        return try mount.client.addSlot(
            source, name: name, opening: opener.kind, secret: pipe, mayBeLast: opener.mayBeLast)
    }

    public func remove(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(Failure) {
        let pipe = try secret.pipe()
        try mount.client.removeSlot(slot, opening: opener.kind, secret: pipe, mayBeLast: opener.mayBeLast)
    }

    public func changePasscode(
        _ opener: Opener, from old: borrowing Secret, to new: borrowing Secret, allowingWeak: Bool
    ) throws(Failure) {
        let (old, new) = (try old.pipe(), try new.pipe())
        try mount.client.changePasscode(
            opener.kind, from: old, to: new, allowingWeak: allowingWeak, mayBeLast: opener.mayBeLast)
    }

    public func test(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> Int {
        let pipe = try secret.pipe()
        return try mount.client.testSlot(opener.kind, secret: pipe, mayBeLast: opener.mayBeLast)
    }
}

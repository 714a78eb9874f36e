import Crypto
public import Format
public import Keybag
import Posix

extension OpenKeybag {
    /// This machine, if the vault is synchronised.
    public var machine: MachineTag? { file.isSynchronised ? .own(in: volume) : nil }
}

extension MachineTag {
    /// This machine's tag in a vault; another one after each boot if the machine has no identity.
    public static func own(in volume: VolumeIdentifier) -> MachineTag {
        let identity = MachineIdentity.permanent ?? MachineIdentity.ofBoot ?? []
        let digest = sha256(Array("latchkey machine".utf8) + volume.bytes + identity)
        return MachineTag(Array(digest.prefix(byteCount)))
    }
}

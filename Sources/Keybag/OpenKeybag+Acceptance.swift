public import Failure
import Format
public import Store

extension OpenKeybag {
    /// Makes an older keybag the newest one: its owner has put it back on purpose. It gets a generation above the one
    /// that this machine has seen, so other machines that have seen that one accept it as well.
    ///
    /// - Parameter credential: opens the older keybag, and is still in force.
    /// - Throws: `notOlder`, `outdatedCredential`; what `open` and `unlock` do. Then nothing has changed.
    public static func acceptOlder(
        in store: any Store, deviceKey: consuming DeviceKey, by credential: borrowing Credential
    ) throws(Failure) {
        let keybag = try open(in: store, deviceKey: deviceKey, readOnly: false, acceptingOlder: true)
        guard keybag.isOlder else { throw .notOlder }
        let current = keybag.sealed.withLock { $0 }
        let opened = try keybag.openSlot(of: current, credential)
        var file = current.file
        file.generation = keybag.device.lowestGeneration.lowest
        try keybag.put(file, opened.bundle, over: current)
    }

    /// Throws `outdatedCredential` if the slot of an older keybag is not in the newest one that this machine has seen:
    /// an attacker who puts back an older keybag knows a passcode of then.
    ///
    /// A credential that needs no device key opens every copy of that keybag on every machine: it is always in force.
    func requireInForce(_ slot: KeybagSlot, _ kind: SecretKind) throws(Failure) {
        guard kind.isPortable || device.lowestGeneration.seen?.slots.contains(slot.digest) ?? false else {
            throw .outdatedCredential(kind: kind)
        }
    }
}

public import Failure
import Format
public import Store

extension OpenKeybag {
    /// Puts the newest keybag that this machine has seen in the place of an older one: the owner has restored the vault
    /// from a copy. What was changed or removed since that copy stays so.
    ///
    /// In a conflict it gets the next generation, so that the other machine takes it too.
    ///
    /// - Parameter credential: opens the newest keybag. An attacker who has put back the older one knows a passcode
    ///   from that time at best.
    /// - Throws: `notOlder`; `beforeRotation` if the newest keybag does not open the vault's files, or is not known;
    ///   what `open` and `unlock` do. Then nothing has changed.
    public static func acceptOlder(
        in store: any Store, deviceKey: consuming DeviceKey, by credential: borrowing Credential
    ) throws(Failure) {
        let device = deviceKey
        let storage = KeybagStorage(store: store)
        // Only reads: a keybag that is not the current one may be the newest.
        let present = try storage.load(readOnly: true) { keybag throws(Failure) in
            guard keybag.file.canWrite else { throw .foreignFeature }
            _ = try keybag.openDeviceSlot(device)
        }
        let age = device.age(of: present, counted: device.counted)
        guard case .older(let seen, let isConflict) = age else { throw .notOlder }
        guard let newest = seen?.keybag else { throw .olderKeybag(seen: nil, isConflict: false) }
        guard newest.file.publicKey == present.file.publicKey else { throw .beforeRotation }
        let keybag = try OpenKeybag(storage: storage, device: device, sealed: newest)
        let opened = try keybag.openSlot(of: newest, credential)
        var sealed = newest
        // The copy may be from the middle of a rotation, of which some files have the keys from before.
        let previousKeys = present.file.previousKeys ?? newest.file.previousKeys
        if isConflict || previousKeys != newest.file.previousKeys {
            try keybag.check(opened.bundle, of: present)
            var file = newest.file
            file.previousKeys = previousKeys
            try file.advance()
            sealed = try SealedKeybag(sealing: file, opened.bundle, keybag.device)
        }
        try storage.put(sealed, over: present)
        keybag.device.remember(sealed)
        keybag.device.count(sealed)
    }
}

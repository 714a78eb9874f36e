import Crypto
public import Failure
public import Format

extension OpenKeybag {
    /// Whether there is a slot for a passcode.
    public var hasPasscode: Bool { file.slots.contains { $0.credentialKind == .passcode } }

    /// Whether all passcodes match how the device key is kept: a chip has a part in each, or in none.
    public var isBound: Bool { file.isBound(guarded: device.isGuarded) }

    /// Adds a slot for the passcode that opens the vault now, for a device key that is kept elsewhere (in a chip, or in
    /// none). The slots that are there stay.
    ///
    /// - Parameter device: the same device key, kept in the other way.
    /// - Returns: the number of the new slot.
    /// - Throws: what `unlock` does, `wrong(.passcode)` for another kind, `weakPasscode`; then nothing has changed.
    public func addSlot(
        for device: borrowing DeviceKey, opening passcode: borrowing Credential, allowingWeak: Bool
    ) throws(Failure) -> UInt32 {
        let isGuarded = device.isGuarded
        try passcode.requireStrength(allowingWeak: allowingWeak || isGuarded)
        var identifier: UInt32 = 0
        try change(opening: passcode) { (file, opened) throws(Failure) in
            let slot = try file.passcode(at: opened.index)
            // A slot that an interrupted attempt has added.
            file.slots.removeAll {
                $0.isPasscode(guarded: isGuarded) && $0.head?.identifier != opened.identifier
            }
            identifier = file.nextSlotIdentifier
            file.slots.append(
                try opened.bundle.slot(
                    SlotHead(new: identifier), passcode, cost: slot.cost.raised, device, slot.label))
        }
        return identifier
    }

    /// Keeps one passcode only, the one given, for the chip of this device key or for none.
    ///
    /// The other passcodes are removed: the chip would not count wrong guesses at them, or would not release them.
    /// - Throws: what `unlock` does, `wrong(.passcode)` for another kind, `weakPasscode`; then nothing has changed.
    public func bindPasscode(opening passcode: borrowing Credential, allowingWeak: Bool) throws(Failure) {
        try passcode.requireStrength(allowingWeak: allowingWeak || device.isGuarded)
        try change(opening: passcode) { (file, opened) throws(Failure) in
            let slot = try file.passcode(at: opened.index)
            var kept = opened.identifier
            if (slot.sealed != nil) != device.isGuarded {
                kept = file.nextSlotIdentifier
                file.slots[opened.index] = try opened.bundle.slot(
                    SlotHead(new: kept), passcode, cost: slot.cost.raised, device, slot.label)
            }
            file.slots.removeAll { $0.credentialKind == .passcode && $0.head?.identifier != kept }
        }
    }
}

extension KeybagFile {
    /// Whether a chip has a part in each passcode, or in none.
    public func isBound(guarded: Bool) -> Bool { !slots.contains { $0.isPasscode(guarded: !guarded) } }

    fileprivate func passcode(at index: Int) throws(Failure) -> PasscodeSlot {
        guard case .passcode(let slot) = slots[index] else { throw .wrong(.passcode) }
        return slot
    }
}

extension KeybagSlot {
    /// Whether it is a passcode's slot and a chip has a part in it (`guarded`), or has none.
    func isPasscode(guarded: Bool) -> Bool {
        guard case .passcode(let slot) = self else { return false }
        return (slot.sealed != nil) == guarded
    }

    /// Whether any credential can open it together with this device key.
    func canOpen(with device: borrowing DeviceKey) -> Bool {
        credentialKind != nil && (device.isGuarded || !isPasscode(guarded: true))
    }
}

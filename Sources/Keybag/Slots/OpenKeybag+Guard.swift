import Crypto
public import Failure
public import Format

extension OpenKeybag {
    /// Whether there is a slot for a passcode.
    public var hasPasscode: Bool { file.slots.contains { $0.credentialKind == .passcode } }

    /// Whether all passcodes are for the device key as it is kept: a chip has a part in each, or in none.
    public var isBound: Bool { file.isBound(guarded: device.isGuarded) }

    /// Makes a slot for a passcode that opens it now, for the chip of another device key or for none, beside all that is there.
    ///
    /// - Parameter device: the same key, kept otherwise.
    /// - Returns: the number of the new slot.
    /// - Throws: what `unlock` does, `wrong(.passcode)` for what is no passcode, `weakPasscode`; then nothing has changed.
    public func addSlot(
        for device: borrowing DeviceKey, opening passcode: borrowing Credential, allowingWeak: Bool
    ) throws(Failure) -> UInt32 {
        let isGuarded = device.isGuarded
        try passcode.requireStrength(allowingWeak: allowingWeak || isGuarded)
        var identifier: UInt32 = 0
        try change(opening: passcode) { (file, opened) throws(Failure) in
            let slot = try file.passcode(at: opened.index)
            // What is left of an attempt that was broken off.
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

    /// Leaves a single passcode, the one that opens it now, for the chip of this device key or for none.
    ///
    /// The other passcodes go: the chip would not count wrong ones of them, or not release them.
    /// - Throws: what `unlock` does, `wrong(.passcode)` for what is no passcode, `weakPasscode`; then nothing has changed.
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
    /// Whether it is of a passcode, and a chip has a part in that, or none has.
    func isPasscode(guarded: Bool) -> Bool {
        guard case .passcode(let slot) = self else { return false }
        return (slot.sealed != nil) == guarded
    }

    /// Whether anything opens it where there is this device key.
    func canOpen(with device: borrowing DeviceKey) -> Bool {
        credentialKind != nil && (device.isGuarded || !isPasscode(guarded: true))
    }
}

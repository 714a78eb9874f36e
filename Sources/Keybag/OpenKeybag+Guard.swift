import Format

extension OpenKeybag {
    /// Whether there is a slot for a passcode.
    public var hasPasscode: Bool { file.slots.contains { $0.credentialKind == .passcode } }

    /// Makes a slot for a passcode that opens it now, for the chip of another device key or for none, and lets go of the
    /// passcodes that are not.
    ///
    /// - Parameters:
    ///   - device: the same key, kept otherwise.
    ///   - keepingOthers: leaves all other slots as they are: for the time until the device key is kept so.
    /// - Throws: what `unlock` does, `wrong(.passcode)` for what is no passcode; then nothing has changed.
    public func rewrapPasscodes(
        for device: borrowing DeviceKey, opening passcode: borrowing Credential, keepingOthers: Bool
    ) throws(KeybagError) {
        let isGuarded = device.isGuarded
        try change(opening: passcode) { (file, opened) throws(KeybagError) in
            guard case .passcode(let slot) = file.slots[opened.index] else { throw .wrong(.passcode) }
            let identifier = file.nextSlotIdentifier
            if (slot.sealed != nil) != isGuarded {
                let new = try opened.bundle.slot(
                    SlotHead(new: identifier), passcode, cost: slot.cost.raised, device, slot.label)
                file.slots.append(new)
            }
            if !keepingOthers { file.slots.removeAll { $0.isPasscode(guarded: !isGuarded) } }
        }
    }
}

extension KeybagSlot {
    fileprivate func isPasscode(guarded: Bool) -> Bool {
        guard case .passcode(let slot) = self else { return false }
        return (slot.sealed != nil) == guarded
    }
}

public import Crypto
public import Failure
public import Format

extension OpenKeybag {
    /// Whether files may still be wrapped for previous keys. Waits for no lock.
    public var isRotating: Bool { hasPreviousKeys.load(ordering: .sequentiallyConsistent) }

    /// Makes new class keys. The previous ones stay for the files that are wrapped for them, until `finishRotation`.
    ///
    /// The slot of `credential` stays, and the escrow slots, whose public keys are known. All other slots are removed.
    ///
    /// - Parameters:
    ///   - credential: one that needs the device key; slots that need none are replaced.
    ///   - recoveryKey: a new one, 32 bytes. The caller has shown it to the user before.
    ///   - dropping: the numbers of all slots that will be removed, so that none is removed without the user's
    ///     knowledge.
    /// - Throws: what `unlock` does; `changedMeanwhile` if other slots would be removed, or a rotation is under way
    ///   already. Then nothing has changed.
    public func beginRotation(
        opening credential: borrowing Credential, recoveryKey: borrowing Secret?, dropping: Set<UInt32>
    ) throws(Failure) {
        try requireWritable()
        let current = sealed.withLock { $0 }
        try device.refuseOlder(current, counted: counted)
        let opened = try openSlot(of: current, credential)
        guard current.file.previousKeys == nil, current.file.lostSlots(opening: opened.identifier) == dropping else {
            throw .changedMeanwhile
        }
        let bundle = try crypto(try opened.bundle.successor())
        let file = try successor(of: current.file, opened, credential, recoveryKey, bundle)
        let changed = try SealedKeybag(sealing: file, bundle, device)
        // Proves, before the old keybag is replaced, that the credential opens the new one.
        let proven = try findSlot(of: changed, credential)
        var keys: ClassKeys? = try proven.bundle.classKeys(of: changed.file)
        let old = try crypto(try opened.bundle.classKeyBytes())
        guard try proven.bundle.openPreviousKeys(changed.file.previousKeys!, volume).equals(old) else {
            throw .damaged(reason: "the old keys do not open in the new keybag")
        }
        let proof = try bundle.proof(volume)
        try sealed.withLock { sealed throws(Failure) in
            guard sealed.bytes == current.bytes else { throw .changedMeanwhile }
            guard !isDestroyed.load(ordering: .relaxed) else { throw .erased(reason: nil) }
            try storage.replace(sealed, by: changed)
            learn(proof)
            // Before the first file is rewrapped: only the new keys will open it.
            storage.forgetPrevious()
            sealed = changed
            device.remember(changed)
            if let keys = keys.take() { ring.rotate(to: keys) }
            hasPreviousKeys.store(true, ordering: .sequentiallyConsistent)
        }
        device.count(changed)
    }

    private func successor(
        of old: KeybagFile, _ opened: borrowing OpenedSlot, _ credential: borrowing Credential,
        _ recoveryKey: borrowing Secret?, _ bundle: borrowing Bundle
    ) throws(Failure) -> KeybagFile {
        var file = old
        try file.advance()
        file.publicKey = try crypto(try X25519.publicKey(of: bundle.privateKeyB()))
        file.deviceSlot = try crypto(try DeviceSlotKeys.wrap(bundle, device))
        file.previousKeys = try crypto(try bundle.previousKeys(opened.bundle, device))
        // The way up for a vault of an earlier version.
        file.features.incompatible |= KeybagFile.featuresOfNew
        file.slots = []
        for slot in old.slots {
            if let head = slot.head, head.identifier == opened.identifier {
                file.slots.append(
                    try bundle.slot(head, credential, cost: old.dearestCost, device, slot.label, like: slot))
            } else if case .escrow(let slot) = slot {
                file.slots.append(try bundle.escrowSlot(slot.head, for: slot.publicKey, volume, slot.label))
            }
        }
        switch recoveryKey {
        case .some(let key):
            let new = try Credential(recoveryKey: key)
            let head = SlotHead(new: old.nextSlotIdentifier)
            file.slots.append(try bundle.slot(head, new, cost: old.dearestCost, device, .empty))
        case .none: break
        }
        return file
    }

    /// Removes the previous keys, when no file is wrapped for them any more, durably. False if the vault is locked.
    public func finishRotation() throws(Failure) -> Bool {
        try requireWritable()
        let isDone = try sealed.withLock { sealed throws(Failure) in
            guard sealed.file.previousKeys != nil else { return true }
            guard !isDestroyed.load(ordering: .relaxed) else { throw .erased(reason: nil) }
            var file = sealed.file
            // Without the previous keys, whatever a copy of the vault was given meanwhile.
            file.generation = max(file.generation, device.newestRemembered)
            try file.advance()
            file.previousKeys = nil
            let current = sealed
            let changed = try ring.withUnlockMACKey { (key) throws(Failure) in
                // A keybag that is authenticated with another key would open for no credential.
                guard try current.isAuthentic(under: key) else { throw .changedMeanwhile }
                return try SealedKeybag(sealing: file, unlockMACKey: key, device)
            }
            guard let changed else { return false }
            try storage.replace(sealed, by: changed)
            storage.forgetPrevious()
            sealed = changed
            device.remember(changed)
            ring.endRotation()
            hasPreviousKeys.store(false, ordering: .sequentiallyConsistent)
            return true
        }
        if isDone { device.count(sealed.withLock { $0 }) }
        return isDone
    }
}

extension KeybagFile {
    /// The numbers of the slots that a rotation with the slot `opened` cannot keep, because the secrets that open them
    /// are not known.
    public func lostSlots(opening opened: UInt32) -> Set<UInt32> {
        var lost: Set<UInt32> = []
        for slot in slots {
            if case .escrow = slot { continue }
            let identifier = slot.head?.identifier ?? 0
            if identifier != opened { lost.insert(identifier) }
        }
        return lost
    }
}

extension Bundle {
    /// A new slot for the credential that opened `old`, at the same cost, or at the minimum if that is higher.
    fileprivate func slot(
        _ head: SlotHead, _ credential: borrowing Credential, cost: Argon2Cost, _ device: borrowing DeviceKey,
        _ label: SlotLabel, like old: KeybagSlot
    ) throws(Failure) -> KeybagSlot {
        switch old {
        case .passcode(let slot): try self.slot(head, credential, cost: slot.cost.raised, device, label)
        case .securityKey(let slot):
            .securityKey(try SecurityKeySlot.wrap(self, slot.entry, credential.secret, device, head, label))
        default: try self.slot(head, credential, cost: cost, device, label)
        }
    }
}

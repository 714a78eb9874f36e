public import Crypto
public import Failure
public import Format

extension OpenKeybag {
    /// Whether files may still be wrapped for previous keys. Answers at once.
    public var isRotating: Bool { hasPreviousKeys.load(ordering: .sequentiallyConsistent) }

    /// Makes new class keys. The old ones stay, for the files that are wrapped for them, until `finishRotation`.
    ///
    /// What opens it now opens it from then on; so do escrow keys, whose public keys are known. No other slot stays.
    ///
    /// - Parameters:
    ///   - credential: one that needs the device key: those that do not are replaced.
    ///   - recoveryKey: a new one, 32 bytes. Whoever made it has shown it before.
    ///   - dropping: the numbers of all slots that go, so that none goes of which the user does not know.
    /// - Throws: what `unlock` does; `changedMeanwhile` if other slots would go, or files are being given new keys already.
    ///   Then nothing has changed.
    public func beginRotation(
        opening credential: borrowing Credential, recoveryKey: borrowing Secret?, dropping: Set<UInt32>
    ) throws(Failure) {
        try requireWritable()
        let current = sealed.withLock { $0 }
        let opened = try openSlot(of: current, credential)
        guard current.file.previousKeys == nil, current.file.lostSlots(opening: opened.identifier) == dropping else {
            throw .changedMeanwhile
        }
        let bundle = try crypto(try opened.bundle.successor())
        let file = try successor(of: current.file, opened, credential, recoveryKey, bundle)
        let changed = try SealedKeybag(sealing: file, bundle, device)
        // Nobody is to be locked out of what took the place of the old one.
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
            // Before any file is of use with the new keys alone.
            storage.forgetPrevious()
            sealed = changed
            if let keys = keys.take() { ring.rotate(to: keys) }
            hasPreviousKeys.store(true, ordering: .sequentiallyConsistent)
        }
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

    /// Lets go of the old keys: no file is wrapped for them any more, durably. False while the vault is locked.
    public func finishRotation() throws(Failure) -> Bool {
        try requireWritable()
        return try sealed.withLock { sealed throws(Failure) in
            guard sealed.file.previousKeys != nil else { return true }
            guard !isDestroyed.load(ordering: .relaxed) else { throw .erased(reason: nil) }
            var file = sealed.file
            try file.advance()
            file.previousKeys = nil
            let current = sealed
            let changed = try ring.withUnlockMACKey { (key) throws(Failure) in
                // With another key than that it would open for nobody.
                guard try current.isAuthentic(under: key) else { throw .changedMeanwhile }
                return try SealedKeybag(sealing: file, unlockMACKey: key, device)
            }
            guard let changed else { return false }
            try storage.replace(sealed, by: changed)
            storage.forgetPrevious()
            sealed = changed
            ring.endRotation()
            hasPreviousKeys.store(false, ordering: .sequentiallyConsistent)
            return true
        }
    }
}

extension KeybagFile {
    /// The numbers of the slots that no rotation can keep which is begun with the slot `opened`: what opens them is not known
    /// then.
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
    /// A new slot for what has opened `old`, at the same cost or what one has to be by now.
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

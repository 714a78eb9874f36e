public import Crypto
public import Failure
public import Format

extension OpenKeybag {
    /// Adds a slot.
    ///
    /// - Parameter credential: one that opens the vault now.
    /// - Returns: the number of the new slot.
    /// - Throws: what `unlock` does, `weakPasscode`, `notAPublicKey`, `cost`; for a passcode `hasNoPasscode` and
    ///   `onePasscodeOnly`; `io` if the store is read-only. Then nothing has changed.
    public func addSlot(
        _ new: borrowing NewSlot, label: SlotLabel = .empty, opening credential: borrowing Credential
    ) throws(Failure) -> UInt32 {
        var identifier: UInt32 = 0
        try change(opening: credential) { (file, opened) throws(Failure) in
            if new.isPasscode {
                guard !file.hasNoPasscode else { throw .hasNoPasscode }
                guard !device.isGuarded || !file.slots.contains(where: { $0.credentialKind == .passcode }) else {
                    throw .onePasscodeOnly
                }
            }
            identifier = file.nextSlotIdentifier
            file.slots.append(
                try opened.bundle.slot(SlotHead(new: identifier), new, cost: file.dearestCost, device, label))
        }
        return identifier
    }

    /// Removes a slot; it may be the one that `credential` opens.
    ///
    /// - Throws: what `unlock` does, `noSuchSlot`; `lastSlot` if nothing else would open the vault. Then nothing has
    ///   changed.
    public func removeSlot(
        _ identifier: UInt32, opening credential: borrowing Credential
    ) throws(Failure) {
        try change(opening: credential) { (file, _) throws(Failure) in
            guard let index = file.slots.firstIndex(where: { $0.head?.identifier == identifier }) else {
                throw .noSuchSlot(slot: Int(identifier))
            }
            file.slots.remove(at: index)
            guard file.slots.contains(where: { $0.canOpen(with: device) }) else { throw .lastSlot }
        }
    }

    /// Replaces the slot that `old`, a passcode or no passcode, opens by one for a new passcode. Only the keybag is
    /// written, and the class keys stay.
    ///
    /// - Parameter cost: nil for the cost of the old one, raised to today's minimum.
    /// - Throws: what `unlock` does, `weakPasscode`. Then nothing has changed.
    public func changePasscode(
        from old: borrowing Credential, to new: borrowing Secret, cost: Argon2Cost? = nil, allowingWeak: Bool = false
    ) throws(Failure) {
        if let cost, !cost.isEnough { throw .cost(cost) }
        let new = try Credential(.passcode, reading: new)
        try new.requireStrength(allowingWeak: allowingWeak || device.hardware != nil)
        try change(opening: old) { (file, opened) throws(Failure) in
            let slot = file.slots[opened.index]
            let before: Argon2Cost
            switch slot {
            case .passcode(let slot): before = slot.cost.raised
            case .open: before = file.dearestCost
            default: throw .wrong(.passcode)
            }
            file.slots[opened.index] = try opened.bundle.slot(
                SlotHead(new: opened.identifier), new, cost: cost ?? before, device, slot.label)
            // An interrupted change of the device key's location may have left the old passcode in a slot of the other
            // kind.
            file.slots.removeAll { $0.isPasscode(guarded: !device.isGuarded) }
        }
    }

    /// The same by the old passcode.
    public func changePasscode(
        from old: borrowing Secret, to new: borrowing Secret, cost: Argon2Cost? = nil, allowingWeak: Bool = false
    ) throws(Failure) {
        try changePasscode(
            from: Credential(.passcode, reading: old), to: new, cost: cost, allowingWeak: allowingWeak)
    }

    /// Raises the cost of a passcode that has just opened its slot to today's minimum.
    func raiseCost(
        of opened: borrowing OpenedSlot, in sealed: SealedKeybag, _ credential: borrowing Credential
    ) throws(Failure) {
        guard case .passcode(let slot) = sealed.file.slots[opened.index], !slot.cost.isEnough else { return }
        try requireWritable()
        var file = sealed.file
        file.slots[opened.index] = try opened.bundle.slot(
            slot.head, credential, cost: slot.cost.raised, device, slot.label)
        try put(file, opened.bundle, over: sealed)
    }

    /// Changes the keybag, after `credential` has passed all checks of an unlock.
    func change(
        opening credential: borrowing Credential,
        _ body: (inout KeybagFile, borrowing OpenedSlot) throws(Failure) -> Void
    ) throws(Failure) {
        try requireWritable()
        let current = sealed.withLock { $0 }
        // A copy of the vault may have been given a newer one meanwhile.
        try device.refuseOlder(current, counted: counted)
        let opened = try openSlot(of: current, credential)
        var file = current.file
        try body(&file, opened)
        try put(file, opened.bundle, over: current)
    }

    private func put(
        _ file: KeybagFile, _ bundle: borrowing Bundle, over current: SealedKeybag
    ) throws(Failure) {
        var file = file
        try file.advance()
        let changed = try SealedKeybag(sealing: file, bundle, device)
        try sealed.withLock { sealed throws(Failure) in
            // Argon2 ran without the lock; another change may have come first.
            guard sealed.bytes == current.bytes else { throw .changedMeanwhile }
            guard !isDestroyed.load(ordering: .relaxed) else { throw .erased(reason: nil) }
            try device.refuseOlder(current, counted: counted)
            try storage.replace(sealed, by: changed)
            sealed = changed
            device.remember(changed)
            isOpenToAll.store(changed.file.hasNoPasscode, ordering: .relaxed)
        }
        device.count(changed)
    }
}

extension KeybagFile {
    /// One above the highest number in use; if that is the last number, the lowest free one.
    var nextSlotIdentifier: UInt32 {
        let used = Set(slots.compactMap { $0.head?.identifier })
        let highest = used.max() ?? 0
        guard highest == .max else { return highest + 1 }
        return (1...UInt32.max).first { !used.contains($0) }!
    }

    /// The next generation.
    mutating func advance() throws(Failure) {
        guard generation < Self.highestGeneration else {
            throw .damaged(reason: "the keybag's generation cannot grow any more")
        }
        generation += 1
    }

    /// Whether there are passcodes, and a chip has a part in each.
    var allPasscodesNeedChip: Bool {
        let passcodes = slots.filter { $0.credentialKind == .passcode }
        return !passcodes.isEmpty && passcodes.allSatisfy { $0.isPasscode(guarded: true) }
    }

    /// Whether the device key alone opens the vault.
    public var hasNoPasscode: Bool { slots.contains { $0.credentialKind == .noPasscode } }

    /// The public keys of the escrow slots.
    public var escrowKeys: [[UInt8]] {
        slots.compactMap { slot in if case .escrow(let slot) = slot { slot.publicKey } else { nil } }
    }

    /// What a new passcode costs: as much as the most expensive one of the vault, and at least the minimum.
    public var dearestCost: Argon2Cost {
        var dearest = Argon2Cost.minimum
        for case .passcode(let slot) in slots {
            let cost = slot.cost.raised
            if cost.work > dearest.work { dearest = cost }
        }
        return dearest
    }
}

extension Argon2Cost {
    /// This cost, raised to the minimum for a new passcode.
    var raised: Argon2Cost {
        var cost = self
        cost.memoryKiB = max(memoryKiB, Self.minimum.memoryKiB)
        cost.passes = max(passes, Self.minimum.passes)
        return cost
    }

    fileprivate var work: UInt64 { UInt64(memoryKiB) * UInt64(passes) }
}

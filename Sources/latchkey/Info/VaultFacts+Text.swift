import DeviceKeys
import Format
import Posix

extension VaultFacts {
    /// For people.
    var text: Printable {
        var table = Table()
        table.add("mounted", mountPoint.map { "at \($0)" } ?? "no")
        table.add("volume", "\(volume)")
        table.add("format", "\(formatVersion)")
        table.add("ciphers", "\(ciphers.contents) for contents, \(ciphers.names) for names, \(ciphers.keys) for keys")
        table.add("created", "\(Clock.date(Double(created)))")
        table.add("class", defaultClass.map { "\($0), of new files in the root folder" } ?? "not known")
        table.add("opened by", slotLines)
        if isSynchronised { table.add("synchronised", "several machines may change it in turns, each in its own copy") }
        if isRotating { table.add("new keys", "some files still have the keys from before a rotation") }
        table.add("erased", ["\(erasure)"])
        table.add("device key", [deviceKeyText, "\(deviceKey.path)"])
        table.add("journal", journal?.text ?? "none yet")
        if let claim { table.add("claim", claim.text) }
        if isPreviousKeybag {
            table.add(
                "keybag",
                "\(BackingName.keybag) is damaged or missing: this is from \(BackingName.oldKeybag)")
        }
        if isOlderKeybag {
            table.add("keybag", "it is older than the newest one that this machine has seen")
        }
        table.add("verified", isVerified ? ["yes, with the device key"] : notVerified)
        return "\(vault)\n\(table.lines(indent: 2))"
    }

    private var notVerified: [Printable] {
        [
            "no: \(reason ?? "")",
            "A person who can write to the vault may have changed all of this but the device key.",
        ]
    }

    private var slotLines: [Printable] {
        var table = Table()
        for facts in slots {
            let slot = facts.slot
            let cost = facts.argon2id.map { cost in
                "Argon2id, \(Amount.bytes(UInt64(cost.memoryKiB) << 10)), \(cost.passes) \(cost.passes == 1 ? "pass" : "passes")"
            }
            let name = [slot.name.isEmpty ? nil : slot.name, cost].compactMap(\.self).joined(separator: "; ")
            table.add(
                "\(slot.id)", "\(slot.kind)", slot.isPortable ? "opens anywhere" : "this machine",
                "\(name.isEmpty ? "-" : name)")
        }
        return table.rowLines
    }

    private var erasure: String {
        guard let eraseAfter else { return "never, by wrong passcodes" }
        let left = guesses.map { ": \($0.left) of \($0.limit) attempts left" } ?? ""
        return "after \(Amount.of(eraseAfter, "wrong passcode")) in a row\(left)"
    }

    private var deviceKeyText: Printable {
        guard deviceKey.isThere else { return "missing: this machine does not have it" }
        switch deviceKey.kind {
        case "software": return "software: a file, there"
        case let kind?: return "\(kind): sealed by this machine's TPM, there"
        case nil: return "there, but not readable as a device key"
        }
    }
}

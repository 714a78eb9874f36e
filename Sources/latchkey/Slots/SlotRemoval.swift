import Control
import Posix

/// What the removal of a slot takes from a vault, in words.
struct SlotRemoval {
    let slot: Slot
    private let rest: [Slot]
    private let isProof: Bool

    /// Nil if there is no such slot, or no other one: the vault then refuses by itself.
    ///
    /// - Parameters:
    ///   - slots: all slots of the vault.
    ///   - proof: the number of the slot that has opened the vault for the removal.
    init?(of number: Int, from slots: [Slot], openedBy proof: Int) {
        guard let slot = slots.first(where: { $0.id == number }), slots.count > 1 else { return nil }
        self.slot = slot
        rest = slots.filter { $0.id != number }
        isProof = number == proof
    }

    /// Whether it is the last slot for daily use: only slots that open the vault anywhere remain.
    private var isLastDaily: Bool { !slot.isPortable && rest.allSatisfy(\.isPortable) }

    /// Whether it may lock the user out, so that no script does it without an option.
    var isGrave: Bool { isProof || isLastDaily }

    /// Why it is grave, as sentences.
    private var reasons: [Printable] {
        (isProof ? ["It is the slot that you have just opened the vault with."] : [])
            + (isLastDaily ? ["Only a recovery key or an escrow key opens the vault then: no passcode, no key."] : [])
    }

    var warning: Printable {
        var table = Table()
        for slot in rest { table.add("\(slot.id)", "\(slot.kind)", "\(slot.name)") }
        let sentences =
            (["\(slot.text) will not open the vault any more."] + reasons + ["What opens it then:"]) as [Printable]
        return "\(sentences.joined(separator: "\n"))\n\(table.lines(indent: 2))"
    }

    /// As in "there is no terminal to ask at whether …".
    var refusal: Printable {
        let what: Printable = isProof ? "is what has opened the vault" : "is the last one for daily use"
        return "there is no terminal to ask at whether slot \(slot.id) is to be removed, which \(what)"
    }
}

extension Slot {
    /// As in "Slot 3 (passcode, Ann)".
    var text: Printable { "Slot \(id) (\(kind)\(name.isEmpty ? "" : ", \(name)"))" }
}

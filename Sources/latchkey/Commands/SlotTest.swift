import ArgumentParser
import Control

extension SlotCommand {
    struct Test: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Test whether a passcode, a key or a security key opens a vault, and which slot.",
            discussion: """
                Nothing is unlocked. The exit code is 3 if it opens no slot.

                --json writes an object with the slot's fields as "latchkey slot list --json" writes them, and \
                vaultProof (only if the vault has an escrow key's slot). Fields may be added.
                """ + Examples.of("latchkey slot test ~/vault", "latchkey slot test --recovery ~/vault"))

        @Flag(help: "Write JSON.")
        var json = false

        @OptionGroup var credential: CredentialOptions
        @OptionGroup var argument: PathArgumentOptions

        func run() throws {
            let slots = try argument.slots()
            let kind = try credential.kind(for: slots)
            let number = try PasscodeTries.repeating(credential.asks(kind)) { () throws(CommandError) in
                let secret = try credential.read(kind, vault: slots.vault, deviceKey: argument.deviceKey?.path)
                return try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                    try slots.test(Opener(kind, mayBeLast: mayBeLast), secret)
                }
            }
            let all = try slots.list()
            let slot = all.first { $0.id == number }
            let proof = all.contains(where: \.isEscrow) ? try slots.proof() : nil
            if json, let slot { return Standard.output(try JSON.text(TestedSlot(slot: slot, vaultProof: proof))) }
            let name = slot.map { $0.name.isEmpty ? "" : ", \($0.name)" } ?? ""
            Standard.output("It opens slot \(number) (\(slot?.kind ?? kind.rawValue)\(name)).")
            if let proof { tellOfProof(proof) }
        }
    }
}

/// The slot that a credential opens, for scripts: its fields and the proof are encoded beside each other.
private struct TestedSlot: Encodable {
    let slot: Slot
    let vaultProof: String?

    private enum Key: String, CodingKey { case vaultProof }

    func encode(to encoder: any Encoder) throws {
        try slot.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(vaultProof, forKey: .vaultProof)
    }
}

import ArgumentParser
import Control
import Failure

extension SlotCommand {
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what opens a vault.",
            discussion: """
                Shows number, kind, time of creation and name of each slot. No passcode is needed.

                --json writes a list with an object for each slot: id (its number), kind (passcode, recovery-key, \
                key-file, escrow-key, fido2, no-passcode, unknown), created (seconds since 1970), name (may be empty), \
                isPortable (whether it opens the vault without this machine's device key). Fields may be added.
                """ + Examples.of("latchkey slot list ~/vault", "latchkey slot list --json ~/vault"))

        @Flag(help: "Write JSON: an array.")
        var json = false

        @OptionGroup var argument: PathArgumentOptions

        func run() throws {
            let slots = try argument.slots().list()
            if json { return Standard.output(try JSON.text(slots)) }
            var table = Table()
            for slot in slots {
                let moment = Clock.moment(Double(slot.created)) ?? "?"
                table.add(
                    "\(slot.id)", "\(slot.kind)", "\(moment)", slot.isPortable ? "opens anywhere" : "this machine",
                    "\(slot.name)"
                )
            }
            Standard.output(table.lines())
        }
    }
}

extension Slot {
    var isEscrow: Bool { kind == SecretKind.escrowKey.rawValue }
}

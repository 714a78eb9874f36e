import ArgumentParser
import Control

extension SlotCommand {
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a slot from a vault.",
            discussion: """
                The slot does not open the vault any more; the last one cannot be removed. It still opens an older \
                copy of the vault, or of its keybag.
                """)

        @OptionGroup var credential: CredentialOptions

        @Argument(help: ArgumentHelp("The number that latchkey slot list shows.", valueName: "number"))
        var slot: Int

        @OptionGroup var argument: PathArgumentOptions

        func run() throws {
            let slots = try argument.slots()
            let kind = try credential.kind(for: slots)
            let secret = try credential.read(kind, vault: slots.vault)
            try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                try slots.remove(slot, opening: Opener(kind, mayBeLast: mayBeLast), secret)
            }
            Standard.output("Slot \(slot) is removed.")
            if try !slots.list().contains(where: \.isPortable) {
                Standard.error(
                    """
                    Nothing opens the vault without this machine's device key any more: if that is lost, so is the data.
                      try: latchkey slot add recovery-key \(argument.argument.quoted)
                    """)
            }
        }
    }
}

import ArgumentParser
import Control

extension SlotCommand {
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a slot from a vault.",
            discussion: """
                The slot does not open the vault any more; the last one cannot be removed. It still opens an older \
                copy of the vault, or of its keybag.

                At a terminal the command asks first, and names what remains. Without a terminal, --yes is needed to \
                remove the slot that the command was given to open the vault with, or the last one for daily use: \
                passcode, key file or security key.
                """
                    + Examples.of(
                        "latchkey slot remove 3 ~/vault",
                        "latchkey slot remove --yes --key-file /media/stick/vault.key 1 ~/vault"))

        @Flag(help: "Do not ask before the slot is removed.")
        var yes = false

        @OptionGroup var credential: CredentialOptions

        @Argument(help: ArgumentHelp("The number that latchkey slot list shows.", valueName: "number"))
        var slot: Int

        @OptionGroup var argument: PathArgumentOptions

        func run() throws {
            let slots = try argument.slots()
            let kind = try credential.kind(for: slots)
            try PasscodeTries.repeating(credential.asks(kind)) { () throws(CommandError) in
                let secret = try credential.read(kind, vault: slots.vault, deviceKey: argument.deviceKey?.path)
                try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                    let opener = Opener(kind, mayBeLast: mayBeLast)
                    if !yes { try confirm(in: slots, openedBy: try slots.test(opener, secret)) }
                    try slots.remove(slot, opening: opener, secret)
                }
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

        /// - Parameter proof: the slot that has opened the vault.
        private func confirm(in slots: WordedSlots, openedBy proof: Int) throws(CommandError) {
            guard let removal = SlotRemoval(of: slot, from: try slots.list(), openedBy: proof) else { return }
            guard removal.isGrave || Terminal.standardInput() != nil else { return }
            let path = argument.argument.quoted
            try Confirmation(
                warning: removal.warning, question: "Type yes to remove it: ",
                refusal: (removal.refusal, "latchkey slot remove --yes \(slot) \(path)")
            ).ask()
        }
    }
}

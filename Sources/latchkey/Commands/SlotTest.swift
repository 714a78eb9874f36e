import ArgumentParser
import Control

extension SlotCommand {
    struct Test: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Test whether a passcode, a key or a security key opens a vault, and which slot.",
            discussion: "Nothing is unlocked. The exit code is 3 if it opens no slot.")

        @OptionGroup var credential: CredentialOptions
        @OptionGroup var argument: PathArgumentOptions

        func run() throws {
            let slots = try argument.slots()
            let kind = try credential.kind(for: slots)
            let secret = try credential.read(kind, vault: slots.vault)
            let number = try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                try slots.test(Opener(kind, mayBeLast: mayBeLast), secret)
            }
            let all = try slots.list()
            let slot = all.first { $0.id == number }
            let name = slot.map { $0.name.isEmpty ? "" : ", \($0.name)" } ?? ""
            Standard.output("It opens slot \(number) (\(slot?.kind ?? kind.rawValue)\(name)).")
            if all.contains(where: \.isEscrow), let proof = try slots.proof() {
                tellOfProof(proof)
            }
        }
    }
}

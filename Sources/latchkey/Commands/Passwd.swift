import Administration
import ArgumentParser
import Control
import Crypto
import Failure
import Posix

/// `latchkey passwd`: another passcode for a vault.
struct Passwd: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change the passcode of a vault, mounted or not.",
        discussion: """
            Asks for the old passcode, if the vault has one, then twice for the new one, as latchkey unlock does. In \
            a pipe or a file as standard input they are two lines. No file is changed: only the keybag is written anew. If the passcode is \
            forgotten, latchkey mount --recovery sets a new one, with the recovery key.
            """ + Examples.of("latchkey passwd ~/private"))

    @OptionGroup var passcode: PasscodeOptions
    @OptionGroup var newPasscode: NewPasscodeOptions
    @OptionGroup var strength: StrengthOptions
    @OptionGroup var lastTry: LastTryOptions

    @Option(help: ArgumentHelp("Path of the device key, for a vault that is not mounted.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Argument(help: ArgumentHelp("The mount, a path in it, or the vault.", valueName: "dir"))
    var argument: Path

    func run() throws {
        let slots = try WordedSlots(of: argument, deviceKey: deviceKey?.path)
        let kind = oldKind(withoutPasscode: slots.hasNoPasscode)
        var opener = Opener(kind)
        let old = try PasscodeTries.repeating(kind == .passcode && passcode.isAsked) { () throws(CommandError) in
            let old = try readOld(kind, of: slots.vault)
            // Before the new one is typed twice in vain.
            if kind == .passcode, passcode.isAsked || newPasscode.source.isAsked {
                _ = try lastTry.trying { (mayBeLast) throws(CommandError) in
                    opener.mayBeLast = mayBeLast
                    return try slots.test(opener, old)
                }
            }
            return old
        }
        let new = try newPasscode.source.readNew(
            .newPasscode.of(slots.vault), strength, isGuarded: slots.isGuarded)
        try lastTry.trying { (mayBeLast) throws(CommandError) in
            try slots.changePasscode(
                Opener(kind, mayBeLast: mayBeLast || opener.mayBeLast), from: old, to: new,
                allowingWeak: strength.weak)
        }
        Standard.output("The passcode is changed. The recovery key stays as it is.")
        PasscodeAdvice.tell(of: new, in: slots.vault)
    }

    /// A vault without a passcode asks for none.
    private func oldKind(withoutPasscode isOpen: Bool) -> SecretKind {
        isOpen && !passcode.isGiven ? .noPasscode : .passcode
    }

    private func readOld(_ kind: SecretKind, of vault: Path) throws(CommandError) -> Secret {
        kind == .noPasscode ? try nothing() : try passcode.read(.oldPasscode, of: vault, deviceKey: deviceKey?.path)
    }
}

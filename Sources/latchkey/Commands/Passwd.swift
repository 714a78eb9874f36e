import Administration
import ArgumentParser
import Control
import Crypto
import Failure

/// `latchkey passwd`: another passcode for a vault.
struct Passwd: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change the passcode of a vault, mounted or not.",
        discussion: """
            Asks for the old passcode, if the vault has one, then twice for the new one. Without a terminal they are \
            two lines of standard input. No file is changed: only the keybag is written anew. If the passcode is \
            forgotten, latchkey mount --recovery sets a new one, with the recovery key.
            """)

    @OptionGroup var passcode: PasscodeOptions
    @OptionGroup var newPasscode: NewPasscodeOptions
    @OptionGroup var strength: StrengthOptions
    @OptionGroup var lastTry: LastTryOptions

    @Option(help: ArgumentHelp("Path of the device key, for a vault that is not mounted.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Argument(help: ArgumentHelp("The mount, a path in it, or the vault.", valueName: "dir"))
    var argument: String

    func run() throws {
        let slots = try WordedSlots(of: argument, deviceKey: deviceKey?.path)
        let kind = oldKind(withoutPasscode: slots.hasNoPasscode)
        let old = try readOld(kind)
        let new = try newPasscode.source.readNew(.newPasscode, strength, isGuarded: slots.isGuarded)
        try lastTry.trying { (mayBeLast) throws(CommandError) in
            try slots.changePasscode(
                Opener(kind, mayBeLast: mayBeLast), from: old, to: new, allowingWeak: strength.weak)
        }
        Standard.output("The passcode is changed. The recovery key stays as it is.")
        PasscodeAdvice.tell(of: new, in: slots.vault)
    }

    /// A vault without a passcode asks for none.
    private func oldKind(withoutPasscode isOpen: Bool) -> SecretKind {
        isOpen && !passcode.isGiven ? .noPasscode : .passcode
    }

    private func readOld(_ kind: SecretKind) throws(CommandError) -> Secret {
        kind == .noPasscode ? try nothing() : try passcode.source.read(.oldPasscode)
    }
}

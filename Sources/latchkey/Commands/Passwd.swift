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
            Asks for the old one, if the vault has one, then twice for the new one; from standard input that is no terminal they are two \
            lines. No file is touched: only the keybag is written anew. A forgotten passcode is replaced with the \
            recovery key, by latchkey mount --recovery.
            """)

    @OptionGroup var passcode: PasscodeOptions
    @OptionGroup var newPasscode: NewPasscodeOptions
    @OptionGroup var strength: StrengthOptions
    @OptionGroup var lastTry: LastTryOptions

    @Option(help: ArgumentHelp("Where the device key lies, for a vault that is not mounted.", valueName: "path"))
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

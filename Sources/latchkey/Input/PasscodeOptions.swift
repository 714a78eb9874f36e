import ArgumentParser
import Posix

/// The source of a vault's passcode.
struct PasscodeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Read the passcode from this file.", valueName: "file"))
    var passcodeFile: Path?

    @Option(
        name: .customLong("passcode-fd"),
        help: ArgumentHelp("Read the passcode from this open file descriptor.", valueName: "number"))
    var passcodeDescriptor: Int32?

    @Flag(
        help: """
            Ask for the passcode with systemd-ask-password(1), which asks where the user is: at the console during \
            boot, or on the desktop.
            """)
    var askPassword = false

    @Option(
        help: ArgumentHelp(
            "Run this command with /bin/sh, and read the passcode, one line, from its standard output.",
            valueName: "command"))
    var passcodeCommand: String?

    func validate() throws {
        if passcodeCommand != nil, passcodeFile != nil || passcodeDescriptor != nil || askPassword {
            throw ValidationError("--passcode-command excludes --passcode-file, --passcode-fd and --ask-password.")
        }
        if passcodeCommand?.isEmpty == true { throw ValidationError("--passcode-command takes a command.") }
        if passcodeFile != nil, passcodeDescriptor != nil {
            throw ValidationError("--passcode-file and --passcode-fd exclude each other.")
        }
        if askPassword, passcodeFile != nil || passcodeDescriptor != nil {
            throw ValidationError("--ask-password excludes --passcode-file and --passcode-fd.")
        }
        if let passcodeDescriptor, passcodeDescriptor < 0 {
            throw ValidationError("--passcode-fd takes the number of an open descriptor, 0 or more.")
        }
    }

    /// Whether one of the options was given.
    var isGiven: Bool {
        passcodeFile != nil || passcodeDescriptor != nil || askPassword || passcodeCommand != nil
    }

    var source: SecretSource {
        if let passcodeFile { return .file(passcodeFile) }
        if let passcodeDescriptor { return .descriptor(passcodeDescriptor) }
        if let passcodeCommand { return .command(passcodeCommand) }
        return askPassword ? .agent : .standardInput
    }
}

/// The source of a new passcode.
struct NewPasscodeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Read the new passcode from this file.", valueName: "file"))
    var newPasscodeFile: Path?

    @Option(
        name: .customLong("new-passcode-fd"),
        help: ArgumentHelp("Read the new passcode from this open file descriptor.", valueName: "number"))
    var newPasscodeDescriptor: Int32?

    func validate() throws {
        if newPasscodeFile != nil, newPasscodeDescriptor != nil {
            throw ValidationError("--new-passcode-file and --new-passcode-fd exclude each other.")
        }
        if let newPasscodeDescriptor, newPasscodeDescriptor < 0 {
            throw ValidationError("--new-passcode-fd takes the number of an open descriptor, 0 or more.")
        }
    }

    var isGiven: Bool { newPasscodeFile != nil || newPasscodeDescriptor != nil }

    var source: SecretSource {
        if let newPasscodeFile { return .file(newPasscodeFile) }
        if let newPasscodeDescriptor { return .descriptor(newPasscodeDescriptor) }
        return .standardInput
    }
}

/// The source of the recovery key.
struct RecoveryKeyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Read the recovery key from this file.", valueName: "file"))
    var recoveryKeyFile: Path?

    var source: SecretSource { recoveryKeyFile.map(SecretSource.file) ?? .standardInput }
}

extension RecoveryKeyOptions {
    /// A recovery key is only used with the option that asks for it.
    func validate(with recovery: Bool, _ passcode: PasscodeOptions) throws {
        if recoveryKeyFile != nil, !recovery {
            throw ValidationError("--recovery-key-file needs --recovery.")
        }
    }
}

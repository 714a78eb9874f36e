import ArgumentParser
import Posix

/// `latchkey info`: what a vault is, without a passcode.
struct Info: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what a vault is and what opens it, without a passcode.",
        discussion: """
            Works on a vault that is mounted or not, and changes nothing. The device key confirms what the vault's \
            folder says; without it, the last line says that nothing has confirmed it. If the device key is there and \
            does not confirm it, the command shows all, says why, and fails.

            --json writes an object: vault, mountPoint (only if it is mounted), volume, formatVersion, ciphers \
            (contents, names, keys), created (seconds since 1970), defaultClass (of the root folder; only if it is \
            known), slots (as latchkey slot list, and for a passcode argon2id: memoryKiB, passes, lanes), eraseAfter \
            (wrong passcodes in a row; only if they erase the vault), guesses (left, limit; only with eraseAfter, if \
            they are known), deviceKey (file, isThere, kind), isRotating, isSynchronised, journal (bytes, isClean, isVerified; what is \
            not known is left out), claim (which machine uses the vault, or did last: state, which is held, released, \
            taking, or left by a daemon that has ended; host, if known; isThisMachine; renewed, in seconds since 1970), \
            isVerified, reason (why not), isPreviousKeybag, isOlderKeybag. Fields may be added.
            """ + Examples.of("latchkey info ~/vault", "latchkey info --json ~/vault"))

    @Flag(help: "Write JSON.")
    var json = false

    @Option(help: ArgumentHelp("Path of the device key.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Argument(help: ArgumentHelp("The vault, or its mount.", valueName: "vault"))
    var vault: Path

    func run() throws {
        let path = try deviceKeyPath(deviceKey?.path, of: vault)
        let facts = try VaultFacts(of: try PathArgument.of(vault), deviceKey: path)
        Standard.output(json ? try JSON.text(facts) : facts.text)
        if let failure = facts.failure { throw failure }
    }
}

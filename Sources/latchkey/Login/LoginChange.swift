import Administration
import Control
import Crypto
import Failure
import Glibc
import Policy
import Posix
import Strength
import VaultNames

/// Gives the registered vaults the new passcode of the login, mounted or not, if they have the old one.
///
/// The module shows each line of standard output to the user: `+` and what was done, or `-` and what was not.
enum LoginChange {
    static func run() {
        let vaults = Login.vaults().map { LoginVault(named: $0) }
        guard !vaults.isEmpty else { return }
        guard let pair = LoginSecrets.pair() else {
            return tell(
                "-", LOG_WARNING, "no vault has a new passcode: none has come, or no memory can be locked for it")
        }
        for vault in vaults { change(vault, pair) }
    }

    private static func change(_ vault: LoginVault, _ pair: borrowing LoginSecrets.Pair) {
        let name = vault.named.name.text
        do throws(CommandError) {
            guard try changed(vault, pair) else { return }
            tell("+", LOG_INFO, "the passcode of the vault \(name) is changed, too")
        } catch {
            tell("-", LOG_NOTICE, "the vault \(name) keeps its passcode: \(error.message)")
        }
    }

    /// False for a vault without a passcode, which does not get one by a login.
    private static func changed(
        _ vault: LoginVault, _ pair: borrowing LoginSecrets.Pair
    ) throws(CommandError) -> Bool {
        guard let place = vault.place else {
            throw CommandError(.notFound, "\(vault.named.folderPath) is not there, or another user has mounted it")
        }
        let holder: any SlotHolder
        var deviceKey: Path?
        switch place {
        case .mount(let mount):
            deviceKey = mount.status.deviceKeyFile
            holder = MountedSlots(mount)
        case .vault(let folder):
            holder = try words(vault) { () throws(Failure) in
                try FolderSlots(folder, deviceKeyPath: vault.named.keyPath, .withoutWaiting)
            }
        case .orphan: throw CommandError(.failed, "its daemon does not answer")
        }
        guard !holder.hasNoPasscode else { return false }
        if let objection = vault.objection(deviceKey: deviceKey) {
            throw CommandError(.failed, "the old one was not tried: \(objection)")
        }
        try check(pair.new, vault.named)
        // A weak one is refused here, unless a chip counts the guesses.
        try words(vault) { () throws(Failure) in
            try holder.changePasscode(Opener(.passcode), from: pair.old, to: pair.new, allowingWeak: false)
        }
        return true
    }

    /// Throws if a policy forbids the new passcode.
    private static func check(_ new: borrowing Secret, _ vault: NamedVault) throws(CommandError) {
        var facts = Facts()
        do throws(CryptoError) { facts.passcodeScore = try Strength(of: new).score } catch {
            throw CommandError(.failed, "\(error)")
        }
        let policy: PolicyInForce
        do throws(PolicyError) { policy = try PolicyInForce.load(besides: vault.policy, X25519.publicKey) } catch {
            throw CommandError(error)
        }
        if let violation = policy.violations(of: facts).first { throw CommandError(forbidden: violation) }
    }

    private static func words<Result>(
        _ vault: LoginVault, _ body: () throws(Failure) -> Result
    ) throws(CommandError) -> Result {
        do throws(Failure) { return try body() } catch { throw CommandError(error, of: vault.named.folderPath) }
    }

    private static func tell(_ sign: Printable, _ priority: Int32, _ line: Printable) {
        Login.log(priority, line)
        Standard.output("\(sign)\(line)")
    }
}

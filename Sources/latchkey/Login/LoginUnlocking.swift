import Administration
import Agent
import Control
import Crypto
import Failure
import FoundationEssentials
import Glibc
import Posix
import Synchronization
import VaultNames

/// Unlocks the registered vaults with the passcode of a login. Each vault is tried once.
final class LoginUnlocking: Sendable {
    private let passcode: Secret
    private let vaults: [LoginVault]
    /// Before the passcode is read: what the agent hears later ends the waiting.
    private let begin = Date.now
    /// The vaults that need no further try. A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let settled = Mutex<Set<VaultName>>([])

    /// How long a vault is waited for that is not mounted yet.
    private static let patience = Duration.seconds(30)
    /// How long the table of mounts is watched before the daemons are asked again: a daemon listens a moment after its
    /// mount is there.
    private static let interval = Duration.milliseconds(500)

    /// Nil without a registered vault, or without a passcode.
    init?() {
        let vaults = Login.vaults().map { LoginVault(named: $0) }
        guard !vaults.isEmpty else { return nil }
        guard let passcode = LoginSecrets.passcode() else {
            Login.log(LOG_WARNING, "no vault is unlocked: no passcode has come, or no memory can be locked for it")
            return nil
        }
        self.vaults = vaults
        self.passcode = passcode
    }

    /// Tries the passcode on all vaults that are mounted; false if some are not.
    func tryAll() -> Bool {
        let open = vaults.filter { vault in !settled.withLock { $0.contains(vault.named.name) } }
        _ = open.mapInParallel(threads: 8) { self.tryPasscode(on: $0) }
        return settled.withLock { $0.count } == vaults.count
    }

    /// Tries it on each vault as soon as it is mounted, until all were tried, the process of the login ends, its time
    /// is over, or the user's agent hears that vaults are to be locked.
    func tryAll(while host: pid_t) {
        let clock = ContinuousClock()
        let end = clock.now + Self.patience
        let table = try? Descriptor.open(path: "/proc/self/mountinfo", O_RDONLY)
        while !isLockWanted(), !tryAll(), clock.now < end, kill(host, 0) == 0 || Errno.current == .EPERM {
            _ = try? Poll.readable([], changing: table.map { [$0] } ?? [], timeout: Self.interval)
            // Mounts may change all the time.
            _ = usleep(50_000)
        }
    }

    private func isLockWanted() -> Bool {
        let sources = AgentFiles().read()?.sources ?? []
        guard let heard = sources.first(where: { $0.lastFired ?? 0 > begin.timeIntervalSince1970 }) else {
            return false
        }
        Login.log(LOG_NOTICE, "no more vaults are waited for: the agent has heard \(heard.name.rawValue)")
        return true
    }

    private func tryPasscode(on vault: LoginVault) {
        guard case .mount(let mount)? = vault.place, mount.status.ending != true else { return }
        _ = settled.withLock { $0.insert(vault.named.name) }
        let name = vault.named.name.text
        guard mount.status.state != .unlocked, mount.status.hasPasscode != false else { return }
        if let objection = vault.objection(deviceKey: mount.status.deviceKeyFile) {
            return Login.log(LOG_NOTICE, "vault \(name) stays locked: the passcode was not tried: \(objection)")
        }
        do throws(Failure) {
            _ = try mount.client.unlock(secret: try passcode.pipe())
            Login.log(LOG_INFO, "vault \(name) is unlocked")
        } catch {
            Login.log(LOG_NOTICE, "vault \(name) stays locked: \(CommandError(error, at: vault.named.point).message)")
        }
    }
}

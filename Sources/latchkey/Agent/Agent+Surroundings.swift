import Administration
import Agent
import Glibc
import LockSources
import Posix
import VaultNames

extension Agent.Surroundings {
    /// The buses, configuration and policy of the user who has started this process.
    static var ofThisUser: Agent.Surroundings {
        Agent.Surroundings(
            settings: { AgentSettings.current },
            log: { AgentLog.write($0) },
            version: Latchkey.version,
            users: { point, namesFiles in LockedPrograms.words(at: point, namesFiles: namesFiles) },
            words: { failure in
                // Another user's daemon can answer with any text.
                let text = CommandError(failure).message.text
                return text.utf8.count > 200 ? Printable(line: "\(text.prefix(200))...") : Printable(line: text)
            },
            table: {
                ((try? MountTable())?.entries ?? []).filter(\.isLatchkey).map {
                    TableMount(device: $0.device, mountPoint: $0.mountPoint, vault: $0.source, user: $0.user)
                }
            },
            systemBus: variable("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/run/dbus/system_bus_socket",
            sessionBus: variable("DBUS_SESSION_BUS_ADDRESS")
                ?? variable("XDG_RUNTIME_DIR").map { "unix:path=\($0)/bus" })
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}

extension AgentSettings {
    /// What the configuration says, and the policy forbids; nil if the configuration is wrong. A policy that is wrong
    /// forbids everything.
    fileprivate static var current: AgentSettings? {
        let required: Set<LockSource>
        do throws(CommandError) { required = try PolicyOptions.ofTheMachine().requiredLockSources } catch {
            AgentLog.write(error.text)
            required = Set(LockSource.allCases)
        }
        let named: NamedVaults
        do throws(CommandError) { named = try NamedVaults.loaded() } catch {
            AgentLog.write(error.text)
            return nil
        }
        var settings = AgentSettings()
        settings.off = named.agent.off.subtracting(required)
        settings.usbDevices = named.agent.usbDevices
        settings.notifies = named.agent.notifies
        settings.namesFiles = named.agent.namesFiles
        settings.locksDeepAtSleep = named.agent.locksDeepAtSleep
        for vault in named.vaults {
            guard let sources = vault.lockOn else { continue }
            let folder = (try? vault.folderPath.resolved()) ?? vault.folderPath
            settings.sourcesOfVaults[folder] = sources.union(required)
        }
        return settings
    }
}

/// The agent's log: standard error, which the journal takes. One that nothing reads any more ends no agent.
private enum AgentLog {
    static func write(_ line: Printable) {
        let bytes = Array("\(line)\n".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

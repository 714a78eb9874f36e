import CrashSimulator
import Foundation
import TestSupport
import Testing

extension MountTests {
    /// The daemon is killed at random moments under load, and the vault mounted again: as after a power loss, synced
    /// bytes are there, and nothing is damaged. LATCHKEY_KILLS is the number of kills.
    @Suite struct Kills {
        @Test func underLoad() throws {
            let times = ProcessInfo.processInfo.environment["LATCHKEY_KILLS"].flatMap { Int($0) } ?? 20
            var vault = try Vault()
            var random = SeededRandom(11)
            var load = MixedLoad(writers: 1)
            var (flawed, refused) = (0, 0)
            var (acts, transactions) = (0, 0)
            for turn in 0...times {
                let mount = try MountedVault(vault)
                defer { mount.detach() }
                let flaws = try load.flaws(in: mount) + staleness(of: mount)
                if !flaws.isEmpty {
                    flawed += 1
                    print("crash: kill \(turn): \(flaws.prefix(5).joined(separator: "; "))")
                    // Continue with a new vault: damage would show in every later turn.
                    (acts, transactions) = (acts + load.acknowledged, transactions + load.transactions)
                    (vault, load) = (try Vault(), MixedLoad(writers: 1))
                    continue
                }
                // The last turn only checks.
                if turn == times { break }
                let running = try load.start(in: mount, seed: turn)
                usleep(UInt32.random(in: 20_000...400_000, using: &random))
                // Now and then what was seen is written down before.
                if turn % 7 == 3 { try mount.writeDownWhatWasSeen() }
                // Before the kill: once the daemon is dead, the kernel answers EIO to the requests that were under way.
                running.listen()
                if let refusal = running.refusal {
                    refused += 1
                    print("crash: kill \(turn): \(refusal.suffix(300))\n\(mount.messages.suffix(400))")
                }
                mount.kill()
                running.end()
                running.listen()
                try load.follow(running)
            }
            (acts, transactions) = (acts + load.acknowledged, transactions + load.transactions)
            print(
                "crash: kill -9 under load: \(times) kills, \(acts) acts and \(transactions) transactions"
                    + " acknowledged, \(flawed) mounts violate, \(refused) loads were refused")
            #expect(acts > times && transactions > times, "there was no load")
            #expect(flawed + refused == 0)
        }

        /// What the mount takes for older than what was seen: no kill makes anything older.
        private func staleness(of mount: MountedVault) throws -> [String] {
            struct Status: Decodable { var freshness: FreshnessScene.Found }
            let outcome = try mount.latchkey("status", "--json", mount.path).succeeded()
            let found = try JSONDecoder().decode(Status.self, from: Data(outcome.output)).freshness
            guard found.older > 0 || found.moment != nil || found.hasLostJournal else { return [] }
            return ["\(found), \(mount.messages.suffix(500))"]
        }
    }
}

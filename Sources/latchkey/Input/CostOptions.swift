import ArgumentParser
import Crypto
import Keybag

/// The cost of one guess at a passcode.
struct CostOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "MiB of memory for each guess, 19 to 4096. (default: as measured on this machine)", valueName: "mib"))
    var kdfMemory: UInt32?

    @Option(help: ArgumentHelp("Passes over that memory, 2 to 64.", valueName: "number"))
    var kdfPasses: UInt32?

    func validate() throws {
        guard 19...4096 ~= kdfMemory ?? 19 else { throw ValidationError("--kdf-memory takes 19 to 4096 MiB.") }
        guard 2...64 ~= kdfPasses ?? 2 else { throw ValidationError("--kdf-passes takes 2 to 64.") }
    }

    /// - Parameter duration: how long a guess takes on this machine if no option is given.
    func cost(for duration: Duration) throws(CommandError) -> Argon2Cost {
        var cost = Argon2Cost.minimum
        if kdfMemory == nil || kdfPasses == nil {
            do throws(CryptoError) { cost = try .calibrated(for: duration) } catch {
                throw CommandError(.failed, "\(error)")
            }
        }
        if let kdfMemory { cost.memoryKiB = kdfMemory << 10 }
        if let kdfPasses { cost.passes = kdfPasses }
        return cost
    }
}

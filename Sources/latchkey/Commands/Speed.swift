import ArgumentParser
import Crypto
import Posix

/// `latchkey speed`: the cost of encryption on this machine.
struct Speed: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure what encryption costs on this machine.",
        discussion: """
            Contents use AES-256-GCM and names AES-256-SIV, each measured on one processor; a passcode uses Argon2id, \
            at the cost that a new vault would get here. No vault is touched. It takes about three seconds.

            --json writes an object: usesAESInstructions, sealedBytesPerSecond (written), openedBytesPerSecond (read), \
            namesPerSecond, and argon2id (seconds, memoryKiB, passes, lanes: one guess at a passcode). Fields may be \
            added.
            """ + Examples.of("latchkey speed", "latchkey speed --json"))

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let report: SpeedReport
        do { report = try SpeedReport.measured() } catch {
            throw CommandError(.failed, "it cannot be measured: \(error)")
        }
        Standard.output(json ? try JSON.text(report) : lines(report))
    }

    private func lines(_ report: SpeedReport) -> Printable {
        let (guess, size) = (report.argon2id, SpeedReport.nameCount)
        var table = Table()
        table.add(
            "AES instructions",
            report.usesAESInstructions
                ? "used" : "not used: this processor has none, or OpenSSL was told not to use them")
        table.add("contents", "\(rate(report.sealedBytesPerSecond)) written, \(rate(report.openedBytesPerSecond)) read")
        table.add("names", "\(Amount.count(Int(report.namesPerSecond))) of \(size) bytes a second")
        table.add(
            "passcode",
            "\((guess.seconds * 100).rounded() / 100) s for each guess: "
                + "\(Amount.bytes(UInt64(guess.memoryKiB) << 10)), \(guess.passes) "
                + "\(guess.passes == 1 ? "pass" : "passes"), \(Amount.of(Int(guess.lanes), "lane"))")
        return table.lines()
    }

    private func rate(_ bytes: Double) -> String { Amount.bytes(UInt64(bytes)) + "/s" }
}

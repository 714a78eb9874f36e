import ArgumentParser
import Crypto
import enum Fuse.RingSwitch
import Posix

/// `latchkey speed`: the cost of encryption on this machine.
struct Speed: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure what encryption costs on this machine.",
        discussion: """
            Contents use AES-256-GCM and names AES-256-SIV, each measured on one processor; a passcode uses Argon2id, \
            at the cost that a new vault would get here. A request is a question of the kernel to the daemon, such as \
            one stat(2) that the kernel has no answer for; it comes by io_uring or by /dev/fuse. No vault is touched. \
            It takes about four seconds.

            --json writes an object: usesAESInstructions, sealedBytesPerSecond (written), openedBytesPerSecond (read), \
            namesPerSecond, argon2id (seconds, memoryKiB, passes, lanes: one guess at a passcode), and requests \
            (io_uring, device: seconds for one request; io_uring only if the kernel offers it; absent if nothing can \
            be mounted here). Fields may be added.
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
        add(report.requests, to: &table)
        return table.lines()
    }

    private func add(_ requests: RequestSpeed?, to table: inout Table) {
        guard let requests else { return table.add("requests", "not measured: nothing can be mounted here") }
        let device = "\(microseconds(requests.device)) by /dev/fuse" as Printable
        switch (requests.ring, requests.obstacle) {
        case (let ring?, _): table.add("requests", "\(microseconds(ring)) by io_uring, " + device)
        case (nil, .switchedOff):
            table.add("requests", device + "; the kernel has io_uring switched off for FUSE. As root:")
            table.add("", ["for this boot: \(RingSwitch.now)", "for good:      \(RingSwitch.always)"])
        case (nil, .notSupported): table.add("requests", device + "; this kernel has no io_uring for FUSE (Linux 6.14)")
        case (nil, .refused(.EPERM)):
            table.add("requests", device + "; this system forbids io_uring. As root:")
            table.add("", "sysctl kernel.io_uring_disabled=0")
        case (nil, .refused(let error)): table.add("requests", device + "; the kernel refuses io_uring: \(error)")
        case (nil, nil), (nil, .notWanted): table.add("requests", device)
        }
    }

    private func microseconds(_ seconds: Double) -> Printable { "\((seconds * 1e7).rounded() / 10) µs" }

    private func rate(_ bytes: Double) -> String { Amount.bytes(UInt64(bytes)) + "/s" }
}

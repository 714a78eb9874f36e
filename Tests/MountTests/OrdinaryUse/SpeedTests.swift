import Foundation
import TestSupport
import Testing

extension MountTests {
    /// `latchkey speed` prints plausible numbers; their size depends on the machine.
    @Suite struct SpeedOfTheMachine {
        private struct Report: Decodable {
            struct Guess: Decodable {
                let seconds: Double
                let memoryKiB: Int
                let passes: Int
                let lanes: Int
            }

            let usesAESInstructions: Bool
            let sealedBytesPerSecond: Double
            let openedBytesPerSecond: Double
            let namesPerSecond: Double
            let argon2id: Guess
        }

        private func report(_ environment: [String: String] = [:]) throws -> Report {
            let outcome = try run(
                Built.latchkey, ["speed", "--json"], environment: Environment.plain.merging(environment) { $1 })
            return try JSONDecoder().decode(Report.self, from: Data(try outcome.succeeded().output))
        }

        @Test func isMeasured() throws {
            let report = try report()
            let flags = try String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)
            #expect(report.usesAESInstructions == flags.contains(" aes"))
            for rate in [report.sealedBytesPerSecond, report.openedBytesPerSecond, report.namesPerSecond] {
                #expect(rate > 1000 && rate.isFinite)
            }
            #expect(report.argon2id.seconds > 0)
            #expect(report.argon2id.memoryKiB >= 19_456 && report.argon2id.passes >= 2 && report.argon2id.lanes >= 1)
        }

        /// AES instructions that OpenSSL is told to ignore are not used, and the report says so.
        @Test(.enabled(if: isX86)) func withoutTheInstructions() throws {
            #expect(try !report(["OPENSSL_ia32cap": "~0x200000200000000"]).usesAESInstructions)
        }

        @Test func isToldToPeople() throws {
            let text = try run(Built.latchkey, ["speed"], environment: Environment.plain).succeeded().text
            for word in ["AES instructions", "contents", "names", "passcode", "/s"] { #expect(text.contains(word)) }
        }
    }
}

#if arch(x86_64)
    private let isX86 = true
#else
    private let isX86 = false
#endif

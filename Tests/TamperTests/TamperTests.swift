import Foundation
import Tampering
import TestSupport
import Testing

/// The table of attacks on a vault's folder, in a fixed sample: tools/tamper makes every attempt.
@Suite struct TamperTests {
    @Test func `a sample of every attack gives right bytes, refusals, or what the threat model says`() throws {
        let scene = try TamperScene()
        for attack in Attack.all {
            let tally = try attack.run(on: scene, .sample(every: 997))
            #expect(tally.tries > 0, "\(attack.name): no tries")
            for violation in tally.violations { Issue.record("\(attack.name): \(violation)") }
        }
    }

    /// What a row lets through must be in docs/THREAT-MODEL.md, in the same words.
    @Test func `what is let through is documented`() throws {
        let page = URL(filePath: Built.project + "/docs/THREAT-MODEL.md")
        let text = try String(contentsOf: page, encoding: .utf8).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        for attack in Attack.all {
            guard let words = attack.documented?.words else { continue }
            let isDocumented = text.contains(words)
            #expect(isDocumented, "\(attack.name): \(words)")
        }
    }

    /// The judgement itself: other bytes, a missing file or a missing reason never pass.
    @Test func `what was never written is a violation`() {
        let block = [UInt8](of: "file", version: 1, count: 4096)
        func file(_ blocks: [[UInt8]?]) -> Seen {
            .file(
                SeenFile(size: 8192, protection: SeenClass(3, isExplicit: false), blocks: blocks, attributes: [:]))
        }
        func outcome(_ seen: Seen, _ expected: Seen, _ documented: Documented? = nil) -> Tally.Outcome {
            Tally.Outcome(
                seen: ["file": seen], expected: { _ in expected }, written: { _ in file([block, block]) },
                documented: documented)
        }
        func isViolation(_ outcome: Tally.Outcome) -> Bool { if case .violation = outcome { true } else { false } }
        let other = [UInt8](repeating: 7, count: 4096)
        let zeros = [UInt8](repeating: 0, count: 4096)
        #expect(outcome(file([block, block]), file([block, block])) == .right)
        #expect(outcome(file([block, nil]), file([block, nil])) == .refused)
        #expect(outcome(file([block, zeros]), file([block, zeros]), Documented(.zeros, "")) == .documented)
        #expect(isViolation(outcome(file([block, zeros]), file([block, zeros]))))
        #expect(isViolation(outcome(file([block, other]), file([block, other]), Documented(.zeros, ""))))
        #expect(isViolation(outcome(file([block, block]), file([block, nil]))))
        #expect(isViolation(outcome(file([block, nil]), file([block, block]))))
        #expect(isViolation(outcome(.missing, .missing)))
        #expect(isViolation(outcome(.failed("EINVAL"), .failed("EINVAL"))))
    }
}

import Crypto
import Foundation
import TestSupport
import Testing

@testable import Claims

/// The claims of Tests/Vectors, with their sums and the digests of machines.
@Suite struct ClaimSumTests {
    private struct Case: Decodable {
        let epoch: UInt64
        let machineID: String
        let machine: String
        let daemon: String
        let claim: String
    }

    private struct Refused: Decodable {
        let why: String
        let claim: String
    }

    private struct File: Decodable {
        let cases: [Case]
        let refused: [Refused]
    }

    private let file: File

    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        file = try JSONDecoder().decode(
            File.self, from: Data(contentsOf: folder.appending(path: "Vectors/claims.json")))
    }

    private func bytes(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.utf8.count, by: 2).map { start in
            let digits = text.utf8.dropFirst(start).prefix(2)
            return UInt8(String(decoding: Array(digits), as: UTF8.self), radix: 16)!
        }
    }

    @Test func whatIsWholeCounts() {
        for item in file.cases {
            #expect(ClaimFolder.record(bytes(item.claim), epoch: item.epoch) != nil)
            #expect(ClaimFolder.record(bytes(item.claim), epoch: item.epoch + 1) == nil)
            #expect(Claimant.digest("machine", bytes(item.daemon), bytes(item.machineID)) == bytes(item.machine))
        }
    }

    @Test func whatIsNotDoesNot() {
        for item in file.refused { #expect(ClaimFolder.record(bytes(item.claim), epoch: 1) == nil, "\(item.why)") }
    }
}

import Testing

@testable import Format

@Suite struct ClaimVectorTests {
    private struct Case: Decodable {
        let state: UInt8
        let renews: Bool
        let isShared: Bool
        let lease: UInt32
        let epoch: UInt64
        let renewals: UInt64
        let written: UInt64
        let machine: String
        let boot: String
        let daemon: String
        let process: [UInt64]
        let folder: [UInt64]
        let host: String
        let claim: String
    }

    private struct File: Decodable {
        let cases: [Case]
    }

    @Test func areMadeAndRead() throws {
        let file: File = try vectors("claims")
        for item in file.cases {
            let claim = bytes(item.claim)
            let record = try unsafe ClaimRecord(decoding: claim.span.bytes)
            var made = ClaimRecord(
                state: try #require(ClaimRecord.State(rawValue: item.state)), renews: item.renews, lease: item.lease,
                epoch: item.epoch, machine: bytes(item.machine), boot: bytes(item.boot), daemon: bytes(item.daemon),
                process: .init(
                    namespace: item.process[0], identifier: item.process[1], started: item.process[2]))
            made.renewals = item.renewals
            made.written = item.written
            made.isShared = item.isShared
            made.folder = (item.folder[0], item.folder[1])
            if !item.host.isEmpty { made.host = Array(claim[128..<208]) }
            #expect(record == made)
            #expect(made.encoded == Array(claim.prefix(224)))
        }
    }
}

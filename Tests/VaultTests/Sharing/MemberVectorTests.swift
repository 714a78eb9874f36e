import Crypto
import Format
import Foundation
import Keybag
import Sharing
import Testing
import Vault

/// Records of machines as another implementation makes them: tools/vectors/members.py.
@Suite struct MemberVectorTests {
    private struct File: Decodable {
        struct Case: Decodable {
            let state: UInt8
            let lease: Int64
            let machine: String
            let epoch: UInt64
            let writer: String
            let record: String
        }
        struct Refused: Decodable {
            let why: String
            let record: String
        }
        let cases: [Case]
        let refused: [Refused]
    }

    private struct Volume: Decodable {
        let volumeID: String
        let volumeKey: String
    }

    private let file: File
    private let keys: VolumeKeys

    init() throws {
        try SecureHeap.initialize()
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Vectors")
        file = try JSONDecoder().decode(File.self, from: Data(contentsOf: folder.appending(path: "members.json")))
        let volume = try JSONDecoder().decode(
            Volume.self, from: Data(contentsOf: folder.appending(path: "subkeys.json")))
        keys = try VolumeKeys(
            volumeKey: Secret(copying: unsafe bytes(volume.volumeKey).span.bytes),
            volume: VolumeIdentifier(bytes(volume.volumeID)))
    }

    @Test func areMadeAndRead() throws {
        for item in file.cases {
            let record = try #require(MemberRecord(bytes(item.record), keys))
            #expect(
                record
                    == MemberRecord(
                        machine: MachineNumber(UInt64(item.machine, radix: 16)!), epoch: item.epoch,
                        state: MemberRecord.State(rawValue: item.state)!,
                        writer: MachineNumber(UInt64(item.writer, radix: 16)!), lease: .milliseconds(item.lease)))
            #expect(record.signed(keys) == bytes(item.record))
            #expect(record.machine.tag.machine == record.machine)
            #expect("\(record.machine.tag)" == item.machine)
        }
    }

    @Test func whatIsNoneIsRefused() {
        for item in file.refused { #expect(MemberRecord(bytes(item.record), keys) == nil, "\(item.why)") }
    }
}

private func bytes(_ text: String) -> [UInt8] { [UInt8](hexadecimal: text)! }

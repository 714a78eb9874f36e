@testable import Vault

/// A file, and its expected contents.
final class CheckpointModel: @unchecked Sendable {  // unchecked: one thread uses it
    let file: File
    private let vault: Vault
    private(set) var bytes: [UInt8] = []
    private(set) var history: [String] = []
    private var random: UInt64

    struct OtherBytes: Error {}

    init(of test: TestVault, _ seed: UInt64) throws {
        file = try test.create("file")
        if seed.isMultiple(of: 2) { file.keepLengths() }
        vault = test.vault
        random = seed &* 0x9e37_79b9_7f4a_7c15 | 1
    }

    func below(_ bound: Int) -> Int {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return Int(random % UInt64(bound))
    }

    func compare() throws {
        if try file.contents(200_000) != bytes { throw OtherBytes() }
    }

    func step() throws {
        switch below(10) {
        case 0...2:
            history.append("checkpoint")
            try vault.checkpoint()
        case 3, 4:
            let isDataOnly = below(3) > 0
            history.append(isDataOnly ? "fdatasync" : "fsync")
            try file.synchronize(dataOnly: isDataOnly)
        case 5: try compare()
        default: try change()
        }
    }

    func change() throws {
        let offset = below(3) == 0 ? below(30) * 4096 : below(130_000)
        switch below(8) {
        case 0...4:
            let count = below(3) == 0 ? 4096 * (1 + below(4)) : 1 + below(20_000)
            history.append("write \(offset) \(count)")
            let patch = [UInt8](repeating: UInt8(truncatingIfNeeded: history.count), count: count)
            try file.write(patch, at: UInt64(offset))
            bytes += [UInt8](repeating: 0, count: max(0, offset + count - bytes.count))
            bytes.replaceSubrange(offset..<offset + count, with: patch)
        case 5, 6:
            history.append("truncate \(offset)")
            try file.truncate(to: UInt64(offset))
            bytes = Array(bytes.prefix(offset)) + [UInt8](repeating: 0, count: max(0, offset - bytes.count))
        default:
            history.append("close")
            try file.persistLength()
        }
    }
}

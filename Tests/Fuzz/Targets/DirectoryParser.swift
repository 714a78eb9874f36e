import Crypto
import Format
import Posix
import Store
import Vault

/// Directory records: their bytes, and the text in `lk.dir` of a root.
///
/// The first byte of an input says what the other bytes are, and how the vault keeps its records.
final class DirectoryParser: FuzzedParser {
    private let inLinks: PlantedVault
    private let inFiles: PlantedVault

    init() throws {
        inLinks = try PlantedVault()
        inFiles = try PlantedVault(recordKind: .file)
    }

    func run(_ input: [UInt8]) throws(Finding) {
        guard let kind = input.first else { return }
        let payload = Array(input.dropFirst())
        let planted = kind & 2 == 0 ? inLinks : inFiles
        if kind & 1 == 0 {
            let record = try decode(payload)
            try open(planted, text: try seal(payload, planted), holds: record)
        } else {
            try open(planted, text: payload, holds: nil)
        }
    }

    private func decode(_ bytes: [UInt8]) throws(Finding) -> DirectoryRecord? {
        guard let record = try? unsafe DirectoryRecord(decoding: bytes.span.bytes) else { return nil }
        try demand(record.encoded == bytes, "a record that is written as \(record.encoded)")
        return record
    }

    private func seal(_ record: [UInt8], _ planted: PlantedVault) throws(Finding) -> [UInt8] {
        try demandSuccess(of: "sealing a record") { () throws(CryptoError) in
            Base64URL.encode(
                try planted.keys.directories.seal(
                    record, associatedData: PlantedVault.volumeID.bytes, NameBinding.zero.bytes))
        }
    }

    /// A root opens with exactly the record that was sealed for it, or is damaged.
    private func open(_ planted: PlantedVault, text: [UInt8], holds record: DirectoryRecord?) throws(Finding) {
        // What the kernel accepts as a link's target.
        guard planted === inFiles || 1..<4096 ~= text.count && !text.contains(0) else { return }
        try demandSuccess(of: "planting a record") { () throws(Errno) in
            if planted === inFiles { return try planted.store.plant(text, at: "lk.dir") }
            try planted.store.unlink("lk.dir", in: planted.store.root)
            try planted.store.makeSymbolicLink(to: text, "lk.dir", in: planted.store.root)
        }
        let opened = Result { () throws(VaultError) in try planted.vault.openRoot() }
        switch opened {
        case .success(let root):
            try demand(root.record == record, "a root with another record: \(root.record)")
        case .failure(.damaged):
            try demand(record == nil, "a root that does not open")
        case .failure(let error): throw Finding("opening a root: \(error)")
        }
    }
}

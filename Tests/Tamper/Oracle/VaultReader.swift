import Format
import Posix
public import Vault

/// Reads from an opened vault what a program would see, refusals included.
public struct VaultReader {
    private let vault: Vault
    private let root: Directory

    public init(_ vault: Vault, root: Directory) {
        self.vault = vault
        self.root = root
    }

    public func see(_ path: String) -> Seen {
        do throws(VaultError) {
            var directory = root
            let parts = path.split(separator: "/").map { Name(bytes: $0.utf8)! }
            for part in parts.dropLast() {
                guard case .directory(let next) = try vault.lookup(part, in: directory).details else { return .missing }
                directory = next
            }
            guard let name = parts.last else { return try see(root) }
            let entry: FoundEntry
            switch try vault.lookupInBrief(name, in: directory) {
            case .whole(let found): entry = found
            case .summarized(let status, _):
                let file = try vault.openFile(name, in: directory)
                // As a mount does: if the length differs, the header decides.
                if Int(status.size) == Int(file.length) { return try see(file, Int(status.size)) }
                entry = try vault.lookup(name, in: directory)
            }
            switch entry.details {
            case .directory(let directory): return try see(directory)
            case .file: return try see(try vault.openFile(name, in: directory), Int(entry.status.size))
            case .other:
                guard entry.status.kind == .symbolicLink else { return .special }
                let target = try vault.readSymbolicLink(name, in: directory)
                guard target.count == entry.status.size else {
                    return .failed("a link of another length than its target")
                }
                return .link(target)
            }
        } catch { return Self.refusal(error) }
    }

    /// The daemon logs the path and the reason of `damaged`; any other error is no refusal.
    public static func refusal(_ error: any Error) -> Seen {
        switch error as? VaultError {
        case .system(.ENOENT): .missing
        case .damaged(let reason): reason.isEmpty ? .failed("refused without a reason") : .refused
        default: .failed("\(error)")
        }
    }

    private func see(_ directory: Directory) throws(VaultError) -> Seen {
        let record = directory.record
        let names = try vault.entries(of: directory).map(\.name.description)
        guard Set(names).count == names.count else { return .failed("a name listed twice") }
        return .folder(
            SeenFolder(
                protection: SeenClass(record.defaultClass.rawValue, isExplicit: record.isExplicit),
                names: Set(names),
                attributes: try attributes(of: .directory(directory))))
    }

    private func see(_ file: File, _ size: Int) throws(VaultError) -> Seen {
        try file.loadKey()
        defer { file.close() }
        let length = Int(file.length)
        guard length == size else { return .failed("\(length) bytes, \(size) for stat") }
        var blocks: [[UInt8]?] = []
        for offset in stride(from: 0, to: length, by: StoredHeader.block) {
            let count = min(StoredHeader.block, length - offset)
            let block = try read(file, count, at: offset)
            if let block, block.count != count { return .failed("\(block.count) bytes of \(count) at \(offset)") }
            blocks.append(block)
        }
        // At once, past the end, and across a border between blocks.
        let whole = blocks.contains { $0 == nil } ? nil : blocks.flatMap { $0! }
        guard try read(file, length + 100, at: 0) == whole else { return .failed("another whole than its blocks") }
        guard try read(file, 10, at: length) == [] else { return .failed("bytes behind the end") }
        if length > 5000 {
            let across = blocks[0].flatMap { first in blocks[1].map { Array((first + $0)[4000..<4500]) } }
            guard try read(file, 500, at: 4000) == across else { return .failed("another border than its blocks") }
        }
        let header = file.header
        return .file(
            SeenFile(
                size: length,
                protection: SeenClass(header.protectionClass.rawValue, isExplicit: header.protection.isExplicit),
                blocks: blocks, attributes: try attributes(of: .file(file))))
    }

    /// Nil for EIO with a reason.
    private func read(_ file: File, _ count: Int, at offset: Int) throws(VaultError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        do throws(VaultError) {
            let got: Int
            do {
                var elements = bytes.mutableSpan
                var span = unsafe elements.mutableBytes
                got = try file.read(into: &span, at: UInt64(offset))
            }
            return Array(bytes.prefix(got))
        } catch {
            guard Self.refusal(error) == .refused else { throw error }
            return nil
        }
    }

    private func attributes(of owner: AttributeOwner) throws(VaultError) -> [String: [UInt8]?] {
        var values: [String: [UInt8]?] = [:]
        for name in try vault.attributeNames(of: owner) {
            let text = String(decoding: name, as: UTF8.self)
            do throws(VaultError) {
                values[text] = .some(try vault.attribute(name, of: owner))
            } catch {
                guard Self.refusal(error) == .refused else { throw error }
                values[text] = .some(nil)
            }
        }
        return values
    }
}

import Format
import Glibc
import Posix
import Store

@testable import Vault

/// Everything that a mount shows of a vault, to compare, except for times and inode numbers, which any change may move.
struct TreeImage: Equatable {
    var entries: [String: Entry] = [:]

    struct Entry: Equatable {
        var kind: FileKind?
        var mode: UInt32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
        var links: UInt64 = 0
        /// The contents of a file, the target of a symbolic link.
        var contents: [UInt8] = []
        var length: UInt64 = 0
        var holdsClass: ProtectionClass?
        var isExplicit = false
        var attributes: [[UInt8]: [UInt8]] = [:]
        /// Only a time that a test has set.
        var modified: Int64?
    }

    /// The number of bytes that are read of each file.
    private static let most = 100_000

    /// Times that tests set lie before this one.
    static let now: Int64 = 1_500_000_000

    /// Reads a whole vault; throws if any of it cannot be read.
    init(_ vault: Vault, _ root: Directory) throws {
        try add("/", root, vault)
    }

    private mutating func add(_ path: String, _ directory: Directory, _ vault: Vault) throws {
        var entry = Entry(try vault.status(of: directory))
        // The number of folders in it, temporary ones included.
        entry.links = 0
        entry.holdsClass = directory.record.defaultClass
        entry.isExplicit = directory.record.isExplicit
        try entry.readAttributes(of: .directory(directory), vault)
        entries[path] = entry
        for listed in try vault.entries(of: directory) {
            let name = listed.name
            let path = path + name.description + "/"
            let found = try vault.lookup(name, in: directory)
            switch found.details {
            case .directory(let directory): try add(path, directory, vault)
            case .file:
                let file = try vault.openFile(name, in: directory)
                defer { file.close() }
                var entry = Entry(try vault.isReadOnly ? found.status : file.status())
                entry.holdsClass = file.header.protectionClass
                entry.isExplicit = file.header.protection.isExplicit
                entry.contents = try file.contents(min(Int(file.length), Self.most))
                entry.length = file.length
                try entry.readAttributes(of: .file(file), vault)
                entries[path] = entry
            case .other:
                var entry = Entry(found.status)
                if found.status.kind == .symbolicLink {
                    entry.contents = try vault.readSymbolicLink(name, in: directory)
                }
                entries[path] = entry
            }
        }
    }
}

extension TreeImage.Entry {
    init(_ status: FileStatus) {
        kind = status.kind
        mode = status.permissions
        user = status.owner
        group = status.group
        links = status.linkCount
        modified = status.modified.seconds < TreeImage.now ? status.modified.seconds : nil
    }

    fileprivate mutating func readAttributes(of owner: AttributeOwner, _ vault: Vault) throws {
        for name in try vault.attributeNames(of: owner) { attributes[name] = try vault.attribute(name, of: owner) }
    }
}

extension TreeImage {
    /// Describes what is neither as before nor as after; nil if there is nothing.
    ///
    /// - Parameter mixed: the path of a file of which each block may be the old or the new one.
    func difference(from old: TreeImage, _ new: TreeImage, mixed: String? = nil) -> String? {
        var image = self
        if let mixed, let entry = image.entries[mixed], let before = old.entries[mixed], let after = new.entries[mixed],
            entry.isMixture(of: before, after)
        {
            image.entries[mixed]!.contents = after.contents
            image.entries[mixed]!.length = after.length
        }
        let (old, new) = mixed.map { (old.having($0, of: new), new) } ?? (old, new)
        if image == old || image == new { return nil }
        return "not as it was: \(image.listing(old)); nor as it was to be: \(image.listing(new))"
    }

    /// Without the times: the store refused to set one, and until the file is checkpointed only memory has it.
    func withoutTimes() -> TreeImage {
        var image = self
        for path in entries.keys { image.entries[path]!.modified = nil }
        return image
    }

    private func having(_ path: String, of other: TreeImage) -> TreeImage {
        var image = self
        guard let entry = other.entries[path] else { return image }
        image.entries[path]?.contents = entry.contents
        image.entries[path]?.length = entry.length
        return image
    }

    private func listing(_ other: TreeImage) -> String {
        Set(entries.keys).union(other.entries.keys).sorted().compactMap { path in
            let (here, there) = (entries[path], other.entries[path])
            guard here != there else { return nil }
            guard let here else { return "\(path) is missing" }
            guard let there else { return "\(path) is too many" }
            return "\(path) \(here.brief), not \(there.brief)"
        }.joined(separator: ", ")
    }
}

extension TreeImage.Entry {
    fileprivate func isMixture(of old: Self, _ new: Self) -> Bool {
        guard length >= min(old.length, new.length), length <= max(old.length, new.length) else { return false }
        for start in stride(from: 0, to: contents.count, by: 4096) {
            let block = contents[start..<min(start + 4096, contents.count)]
            let isOne = [old, new].contains { other in
                // Between the two lengths there may be zeros, or nothing yet.
                let there = other.contents.dropFirst(start).prefix(block.count)
                return block.starts(with: there) && block.dropFirst(there.count).allSatisfy { $0 == 0 }
            }
            guard isOne else { return false }
        }
        return true
    }

    fileprivate var brief: String {
        let hash = contents.reduce(UInt32(17)) { $0 &* 31 &+ UInt32($1) }
        let names = attributes.keys.map { String(decoding: $0, as: UTF8.self).prefix(24) }.sorted()
        return
            "[\(String(mode, radix: 8)) \(user):\(group) \(links) links, "
            + "\(max(length, UInt64(contents.count))) bytes #\(hash),"
            + " \(holdsClass.map { "\($0)" } ?? "-")\(isExplicit ? "!" : "") \(names) \(modified ?? 0)]"
    }
}

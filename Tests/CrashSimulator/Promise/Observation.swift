public import Format
import Posix
public import Vault

/// Everything that an opened vault shows: read whole, damage included.
public struct Observation: Sendable {
    public struct RegularFile: Sendable {
        public let identifier: FileIdentifier
        public let protection: Protection
        /// Nil if the contents cannot be read.
        public let bytes: [UInt8]?
        let linkCount: Int
        /// The length that stat(2) shows before the file is opened.
        let toldLength: Int
    }

    public enum Entry: Sendable {
        case file(RegularFile)
        case directory(DirectoryIdentifier)
        case symbolicLink([UInt8])
        case other
        /// The entry exists and does not open.
        case damaged
    }

    public struct Folder: Sendable {
        public var path: String
        public var protection: Protection
        public var entries: [Name: Entry] = [:]
    }

    public private(set) var folders: [DirectoryIdentifier: Folder] = [:]
    public private(set) var root: DirectoryIdentifier
    /// The parts that do not read.
    public private(set) var violations: [Violation] = []

    public init(of vault: Vault, root directory: Directory) {
        root = directory.identifier
        add(directory, at: "", of: vault)
    }

    private mutating func add(_ directory: Directory, at path: String, of vault: Vault) {
        let record = directory.record
        let protection = Protection(record.defaultClass, isExplicit: record.isExplicit)
        var folder = Folder(path: path.isEmpty ? "/" : path, protection: protection)
        do throws(VaultError) {
            for listed in try vault.entries(of: directory) {
                folder.entries[listed.name] = entry(listed.name, in: directory, at: path, of: vault)
            }
        } catch { violate(.directory, folder.path, error) }
        folders[directory.identifier] = folder
    }

    private mutating func entry(
        _ name: Name, in directory: Directory, at parent: String, of vault: Vault
    ) -> Entry {
        let path = "\(parent)/\(name)"
        do throws(VaultError) {
            let brief = try vault.lookupInBrief(name, in: directory)
            let found = try vault.lookup(name, in: directory)
            switch found.details {
            case .directory(let directory):
                add(directory, at: path, of: vault)
                return .directory(directory.identifier)
            case .file:
                let file = try vault.openFileTwice(name, in: directory)
                let header = file.header
                if case .summarized(_, let summary) = brief, summary.file != file.identifier {
                    violations.append(Violation(.summary, "\(path): it is of another file"))
                }
                return .file(
                    RegularFile(
                        identifier: file.identifier,
                        protection: Protection(
                            header.protectionClass, isExplicit: header.flags.contains(.explicitClass)),
                        bytes: contents(of: file, at: path), linkCount: Int(found.status.linkCount),
                        toldLength: Int(brief.status.size)))
            case .other:
                guard found.status.kind == .symbolicLink else { return .other }
                return .symbolicLink(try vault.readSymbolicLink(name, in: directory))
            }
        } catch {
            violate(.entry, path, error)
            return .damaged
        }
    }

    private mutating func contents(of file: File, at path: String) -> [UInt8]? {
        do throws(VaultError) {
            return try file.wholeContents()
        } catch {
            violate(.unreadable, path, error)
            return nil
        }
    }

    /// Whether several backing files have this file's ID.
    func isSplit(_ file: RegularFile) -> Bool {
        var names = 0
        for folder in folders.values {
            for case .file(let other) in folder.entries.values where other.identifier == file.identifier { names += 1 }
        }
        return names > file.linkCount
    }

    private mutating func violate(_ kind: Violation.Kind, _ path: String, _ error: VaultError) {
        violations.append(Violation(kind, "\(path): \(error)"))
    }
}

extension Vault {
    /// As the kernel does: a wrong summary is found out at the first open.
    fileprivate func openFileTwice(_ name: Name, in directory: Directory) throws(VaultError) -> File {
        do throws(VaultError) { return try openFile(name, in: directory) } catch {
            guard case .system(.ESTALE) = error else { throw error }
            return try openFile(name, in: directory)
        }
    }
}

extension File {
    /// All bytes up to its length.
    func wholeContents() throws(VaultError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(length))
        let count: Int
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try read(into: &span, at: 0)
        }
        return Array(bytes.prefix(count))
    }
}

extension BriefEntry {
    fileprivate var status: FileStatus {
        switch self {
        case .whole(let found): found.status
        case .summarized(let status, _): status
        }
    }
}

import Format
import LockSources
import TOML

extension NamedVaults {
    static let graces = 0...3600
    static let idleTimes = 1...86_400
    static let forgetTimes = 1...8760
    static let freezeTimes = 1...Int(Int32.max)
    static let leases = 1...60

    /// Parses the text of a configuration.
    /// - Parameters:
    ///   - path: the path of that file, for messages.
    ///   - folders: for `~/` and the default mount points.
    /// - Throws: for text that is not TOML, unknown or repeated keys, invalid values, and two vaults with one name,
    ///   folder or mount point; with the line.
    public init(parsing text: String, path: String, _ folders: UserFolders) throws(NamedVaultsError) {
        self.init(path: path)
        do throws(TOMLError) {
            let document = try TOMLReader.document(in: text)
            if let entry = document.entries.first {
                throw TOMLError(line: entry.line, problem: "there is no key \(entry.key) before the first table")
            }
            for table in document.tables { try add(table, folders) }
        } catch { throw NamedVaultsError(path, line: error.line, error.problem) }
    }

    private mutating func add(_ table: TOMLTable, _ folders: UserFolders) throws(TOMLError) {
        if table.name == ["agent"] { return agent = try AgentConfiguration(table) }
        guard table.name[0] == "vaults", table.name.count <= 2 else {
            let text = table.name.joined(separator: ".")
            throw TOMLError(
                line: table.line, problem: "there is no table \(text): a vault's is vaults.NAME, the agent's is agent")
        }
        guard table.name.count == 2 else {
            guard let entry = table.entries.first else { return }
            throw TOMLError(line: entry.line, problem: "there is no key \(entry.key) in the table vaults")
        }
        if let problem = VaultName.problem(with: table.name[1]) {
            throw TOMLError(line: table.line, problem: "a name \(problem)")
        }
        let vault = try NamedVault(table, folders)
        if let (problem, key) = conflict(with: vault) {
            throw TOMLError(line: vault.lines[key] ?? vault.lines[.folder] ?? vault.line, problem: problem)
        }
        vaults.append(vault)
    }

    /// Throws if the vault could not stand in the file beside the others.
    public func check(_ vault: NamedVault) throws(NamedVaultsError) {
        if let (problem, _) = conflict(with: vault) { throw NamedVaultsError(path, problem) }
    }

    /// Why the vault cannot stand beside the others, and the key that is wrong.
    private func conflict(with vault: NamedVault) -> (problem: String, key: NamedVault.Key)? {
        let (folder, point) = (vault.folder, vault.mountPoint)
        // By bytes, as file systems compare names.
        if (point + "/").utf8.starts(with: (folder + "/").utf8) || (folder + "/").utf8.starts(with: (point + "/").utf8)
        {
            return ("the mount point \(point) and the folder \(folder) lie in each other", .mount)
        }
        for other in vaults {
            if other.folder.utf8.elementsEqual(folder.utf8) {
                let line = other.lines[.folder] ?? other.line
                return ("the folder \(folder) is that of the vault \(other.name) already, in line \(line)", .folder)
            }
            if other.mountPoint.utf8.elementsEqual(point.utf8) {
                let line = other.lines[.mount] ?? other.line
                return ("the mount point \(point) is that of the vault \(other.name) already, in line \(line)", .mount)
            }
        }
        return nil
    }
}

extension NamedVault {
    fileprivate init(_ table: TOMLTable, _ folders: UserFolders) throws(TOMLError) {
        guard let name = VaultName(table.name[1]) else { throw TOMLError(line: table.line, problem: "no name") }
        var known: [Key: TOMLEntry] = [:]
        for entry in table.entries {
            guard let key = Key(rawValue: entry.key) else {
                throw TOMLError(line: entry.line, problem: "there is no key \(entry.key)")
            }
            known[key] = entry
        }
        guard let folder = known[.folder] else {
            throw TOMLError(line: table.line, problem: "the vault \(name) has no folder")
        }
        self.init(
            name, line: table.line, folder: try folder.path(folders),
            mountPoint: try known[.mount]?.path(folders) ?? folders.home + "/" + name.text)
        lines = known.mapValues(\.line)
        for key in Key.allCases {
            guard let entry = known[key] else { continue }
            try set(key, to: entry, folders)
        }
        if let entry = known[.freezeTimeout], whenLocked != .freeze {
            throw TOMLError(line: entry.line, problem: "freeze-timeout goes with when-locked = \"freeze\"")
        }
        if let entry = known[.shared], isShared == true, isReadOnly == true || whenLocked == .freeze {
            let problem = "shared does not go with read-only = true, or with when-locked = \"freeze\""
            throw TOMLError(line: entry.line, problem: problem)
        }
    }

    private mutating func set(_ key: Key, to entry: TOMLEntry, _ folders: UserFolders) throws(TOMLError) {
        switch key {
        case .folder, .mount: break
        case .defaultClass: defaultClass = try entry.protectionClass()
        case .grace: grace = try entry.integer(in: NamedVaults.graces)
        case .lockWhenIdle: lockWhenIdle = try entry.integer(in: NamedVaults.idleTimes)
        case .forgetAfter: forgetAfter = try entry.integer(in: NamedVaults.forgetTimes)
        case .whenLocked:
            guard case .string(let text) = entry.value, let known = WhenLocked(rawValue: text) else {
                throw entry.takes("\"fail\" or \"freeze\"")
            }
            whenLocked = known
        case .lease: lease = try entry.integer(in: NamedVaults.leases)
        case .shared: isShared = try entry.boolean()
        case .storeRisk:
            guard case .string(let text) = entry.value, let known = StoreRisk(rawValue: text) else {
                throw entry.takes("\"refuse\" or \"accept\"")
            }
            storeRisk = known
        case .transport:
            guard case .string(let text) = entry.value, let known = Transport(rawValue: text) else {
                throw entry.takes("\"auto\", \"io_uring\" or \"device\"")
            }
            transport = known
        case .freshness:
            guard case .string(let text) = entry.value, let known = Freshness(rawValue: text) else {
                throw entry.takes("\"warn\", \"strict\" or \"off\"")
            }
            freshness = known
        case .freezeTimeout: freezeTimeout = try entry.integer(in: NamedVaults.freezeTimes)
        case .readOnly: isReadOnly = try entry.boolean()
        case .allowOther: allowsOthers = try entry.boolean()
        case .options:
            guard case .strings(let texts) = entry.value else {
                throw entry.takes("texts in brackets, such as [\"noexec\"]")
            }
            options = texts
        case .deviceKey: deviceKey = try entry.path(folders)
        case .policy: policy = try entry.path(folders)
        case .passcodeCommand:
            guard case .string(let text) = entry.value, !text.isEmpty, !text.utf8.contains(0) else {
                throw entry.takes("a command of the shell in quotes, such as \"pass show work\"")
            }
            passcodeCommand = text
        case .guardMountPoint: guardsMountPoint = try entry.boolean()
        case .lockOn: lockOn = try entry.lockSources()
        case .unlockAtLogin: unlocksAtLogin = try entry.boolean()
        }
    }
}

extension AgentConfiguration {
    fileprivate init(_ table: TOMLTable) throws(TOMLError) {
        self.init()
        line = table.line
        for entry in table.entries {
            guard let key = Key(rawValue: entry.key) else {
                throw TOMLError(line: entry.line, problem: "there is no key \(entry.key)")
            }
            lines[key] = entry.line
            switch key {
            case .off: off = try entry.lockSources()
            case .usb: usbDevices = try entry.usbDevices()
            case .notifications: notifies = try entry.boolean()
            case .nameFiles: namesFiles = try entry.boolean()
            case .deepAtSleep: locksDeepAtSleep = try entry.boolean()
            }
        }
    }
}

extension TOMLEntry {
    fileprivate func lockSources() throws(TOMLError) -> Set<LockSource> {
        let known = LockSource.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        guard case .strings(let names) = value else { throw takes("some of [\(known)]") }
        let sources = names.compactMap { LockSource(rawValue: $0) }
        guard sources.count == names.count else { throw takes("only what is in [\(known)]") }
        return Set(sources)
    }

    /// Vendor and product ID, as lsusb(8) shows them.
    fileprivate func usbDevices() throws(TOMLError) -> Set<String> {
        guard case .strings(let texts) = value else { throw takes("IDs as lsusb shows them, such as [\"1050:0407\"]") }
        for text in texts {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 4 && UInt16($0, radix: 16) != nil }) else {
                throw takes("IDs as lsusb shows them, such as [\"1050:0407\"]")
            }
        }
        return Set(texts.map { $0.lowercased() })
    }

    fileprivate func integer(in range: ClosedRange<Int>) throws(TOMLError) -> Int {
        guard case .integer(let number) = value, range ~= number else {
            throw takes("a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    fileprivate func boolean() throws(TOMLError) -> Bool {
        guard case .boolean(let isOn) = value else { throw takes("true or false") }
        return isOn
    }

    fileprivate func path(_ folders: UserFolders) throws(TOMLError) -> String {
        guard case .string(let text) = value, let path = folders.path(text), path != "/" else {
            throw takes("a path in quotes that begins with / or ~/, and has no .. in it")
        }
        return path
    }

    fileprivate func protectionClass() throws(TOMLError) -> ProtectionClass {
        guard case .string(let text) = value, let found = ProtectionClass(attributeValue: text) else {
            throw takes("a class in quotes: " + ProtectionClass.allCases.map(\.name).joined(separator: ", "))
        }
        return found
    }

    fileprivate func takes(_ what: String) -> TOMLError { TOMLError(line: line, problem: "\(key) takes \(what)") }
}

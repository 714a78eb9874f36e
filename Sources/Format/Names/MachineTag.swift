/// Tells the machines apart that change one vault: 8 bytes, which other vaults do not show.
public struct MachineTag: Hashable, Sendable {
    public static let byteCount = 8

    public let bytes: [UInt8]

    /// Traps unless there are 8 bytes.
    public init(_ bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount, "the tag of a machine has 8 bytes")
        self.bytes = bytes
    }

    /// As it stands at the end of a name.
    ///
    /// - Parameter text: 16 lowercase hexadecimal digits; nil for anything else.
    public init?(text: some Collection<UInt8>) {
        let text = String(decoding: text, as: UTF8.self)
        guard let bytes = [UInt8](hexadecimal: text), bytes.count == Self.byteCount, String(hexadecimal: bytes) == text
        else { return nil }
        self.bytes = bytes
    }
}

extension MachineTag {
    /// What stands for the machine in the headers that it writes; never 0, which stands for none.
    public var number: UInt32 { max(1, bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }) }
}

extension MachineTag: CustomStringConvertible {
    /// 16 hexadecimal digits.
    public var description: String { String(hexadecimal: bytes) }
}

extension BackingName {
    /// Stands before the tag of a machine: its copy of a directory's record.
    public static let recordCopyPrefix = "lk.dir."
    /// Stands before the tag of a machine: its journal.
    public static let machineJournalPrefix = "lk.journal."

    /// The machine whose copy of a directory's record has this name; nil if it is not such a name.
    public static func machine(ofRecordCopy name: [UInt8]) -> MachineTag? { machine(name, behind: recordCopyPrefix) }

    /// The machine whose journal has this name; nil if it is not such a name.
    public static func machine(ofJournal name: [UInt8]) -> MachineTag? { machine(name, behind: machineJournalPrefix) }

    private static func machine(_ name: [UInt8], behind prefix: String) -> MachineTag? {
        guard name.starts(with: prefix.utf8) else { return nil }
        return MachineTag(text: name.dropFirst(prefix.utf8.count))
    }
}

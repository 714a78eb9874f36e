import Format
import Glibc
public import Posix
public import Sharing
import Store

// `lk.members`: a record for each machine. docs/FORMAT.md, "Members".

extension LeaseFile {
    /// As many records are read: more machines have never worked with a vault.
    private static let mostMembers = 1024

    public func members() throws(Errno) -> [MemberRecord] {
        // Opened anew each time: some stores show the changes of another client only then.
        let folder = try store.open(Self.members, in: store.root, OpenFlags.directory, mode: 0)
        var records: [MemberRecord] = []
        for entry in try store.entries(of: folder) where entry.name.bytes.starts(with: BackingName.memberPrefix.utf8) {
            guard records.count < Self.mostMembers else { throw .E2BIG }
            records.append(try record(entry.name, in: folder))
        }
        return records
    }

    private static func name(of machine: MachineNumber) -> Name {
        let digits = String(machine.number, radix: 16)
        return Name(ascii: BackingName.memberPrefix + String(repeating: "0", count: 16 - digits.count) + digits)
    }

    /// - Throws: EIO if the record is not as a machine has written it.
    private func record(_ name: Name, in folder: Descriptor) throws(Errno) -> MemberRecord {
        var bytes = [UInt8](repeating: 0, count: MemberFile.byteCount)
        let file = try store.open(name, in: folder, OpenFlags.read, mode: 0)
        let count: Int
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try store.read(file, into: &span, at: 0)
        }
        guard let record = MemberRecord(Array(bytes.prefix(count)), keys) else { throw .EIO }
        // Another machine's record under this name would hide the death of this one.
        guard Self.name(of: record.machine) == name else { throw .EIO }
        return record
    }

    public func write(_ record: MemberRecord) throws(Errno) {
        let bytes = record.signed(keys)
        let folder = try store.open(Self.members, in: store.root, OpenFlags.directory, mode: 0)
        let temporary = Name.temporary()
        let file = try store.open(temporary, in: folder, OpenFlags.create, mode: 0o600)
        do throws(Errno) {
            try unsafe store.write(bytes.span.bytes, to: file, at: 0)
            try store.synchronize(file, dataOnly: false)
            try store.rename(temporary, in: folder, to: Self.name(of: record.machine), in: folder)
        } catch {
            try? store.unlink(temporary, in: folder)
            throw error
        }
        try store.synchronize(folder, dataOnly: false)
    }
}

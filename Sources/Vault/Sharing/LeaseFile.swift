import Crypto
import Format
import Glibc
import Keybag
public import Posix
public import Sharing
import Store
import Synchronization

/// The leases of a vault as locks of bytes of `lk.leases`. docs/FORMAT.md, "Leases" and "Members".
///
/// Thread-safe. All locks belong to one open file: they end with this object, or with the process.
public final class LeaseFile: SharedStore {
    let store: any Store
    let keys: VolumeKeys
    private let file: Descriptor
    private let signs = Mutex<Set<MachineNumber>>([])

    private static let name = Name(ascii: BackingName.leases)
    static let members = Name(ascii: BackingName.members)

    /// Makes the file and the folder, if they are missing.
    init(in store: any Store, _ keys: VolumeKeys) throws(Errno) {
        self.store = store
        self.keys = keys
        file = try Self.open(in: store)
        do throws(Errno) { try store.makeDirectory(Self.members, in: store.root, mode: 0o700) } catch {
            guard error == .EEXIST else { throw error }
        }
    }

    /// Opens the file; makes it if it is missing.
    static func open(in store: any Store) throws(Errno) -> Descriptor {
        try store.open(name, in: store.root, O_RDWR | O_CREAT | O_NONBLOCK, mode: 0o600)
    }

    /// Held by a process that begins to work with the vault, or ends.
    static let turn = ByteRange(byte: Region.turn)

    // MARK: Bytes

    /// Where the bytes of each purpose begin.
    private enum Region {
        static let size: Int64 = 1 << 60
        static let objects: Int64 = 0
        static let readWishes = size
        // Behind the other ones: one question finds both.
        static let writeWishes = 2 * size
        static let signs = 3 * size
        static let recoveries = signs + machines
        static let machines: Int64 = 1 << 58
        static let turn = recoveries + machines
    }

    private static func byte(of object: LeaseObject, in region: Int64) -> ByteRange {
        precondition(object.number < UInt64(Region.size), "numbers of objects have 60 bits")
        return ByteRange(byte: region + Int64(object.number))
    }

    /// Of two machines whose numbers differ in the first bits alone, the second one cannot join.
    private static func byte(of machine: MachineNumber, in region: Int64) -> ByteRange {
        ByteRange(byte: region + Int64(machine.number & UInt64(Region.machines - 1)))
    }

    // MARK: Objects

    public func lock(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) -> Bool {
        try store.lock(Self.byte(of: object, in: Region.objects), kind == .read ? .shared : .exclusive, of: file)
    }

    public func unlock(_ object: LeaseObject) throws(Errno) {
        _ = try store.lock(Self.byte(of: object, in: Region.objects), nil, of: file)
    }

    // MARK: Wishes

    public func wish(_ wish: Wish, isOver: Bool) throws(Errno) {
        let region = wish.kind == .read ? Region.readWishes : Region.writeWishes
        // Several machines may have one of the same.
        _ = try store.lock(Self.byte(of: wish.object, in: region), isOver ? nil : .shared, of: file)
    }

    /// So many are found at once; the others wait for the next question.
    private static let mostWishes = 256

    public func wishes() throws(Errno) -> [Wish] {
        var found: [Wish] = []
        var open = [ByteRange(Region.readWishes, until: Region.writeWishes + Region.size)!]
        while let range = open.popLast(), found.count < Self.mostWishes {
            guard let (_, obstacle) = try store.obstacle(to: .exclusive, of: range, in: file) else { continue }
            let (first, end) = (max(obstacle.start, range.start), min(obstacle.end, range.end))
            guard first < end else { throw .EIO }
            // Locks of bytes side by side may be one.
            for byte in first..<min(end, first + Int64(Self.mostWishes)) { found.append(wish(at: byte)) }
            open += [ByteRange(range.start, until: first), ByteRange(end, until: range.end)].compactMap { $0 }
        }
        return found
    }

    private func wish(at byte: Int64) -> Wish {
        let (kind, region): (LeaseKind, Int64) =
            byte < Region.writeWishes ? (.read, Region.readWishes) : (.write, Region.writeWishes)
        return Wish(byte == region ? .register : LeaseObject(number: UInt64(byte - region)), kind)
    }

    // MARK: Machines

    public func lockSign(of machine: MachineNumber) throws(Errno) -> Bool {
        guard try store.lock(Self.byte(of: machine, in: Region.signs), .exclusive, of: file) else { return false }
        signs.withLock { _ = $0.insert(machine) }
        return true
    }

    public func unlockSign(of machine: MachineNumber) throws(Errno) {
        signs.withLock { _ = $0.remove(machine) }
        _ = try store.lock(Self.byte(of: machine, in: Region.signs), nil, of: file)
    }

    public func isSignLocked(of machine: MachineNumber) throws(Errno) -> Bool {
        if signs.withLock({ $0.contains(machine) }) { return true }
        return try store.obstacle(to: .exclusive, of: Self.byte(of: machine, in: Region.signs), in: file) != nil
    }

    public func lockRecovery(of machine: MachineNumber) throws(Errno) -> Bool {
        try store.lock(Self.byte(of: machine, in: Region.recoveries), .exclusive, of: file)
    }

    public func unlockRecovery(of machine: MachineNumber) throws(Errno) {
        _ = try store.lock(Self.byte(of: machine, in: Region.recoveries), nil, of: file)
    }
}

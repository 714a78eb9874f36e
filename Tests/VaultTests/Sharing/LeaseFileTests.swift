import Crypto
import Format
import Keybag
import Posix
import Sharing
import Store
import TestSupport
import Testing

@testable import Vault

/// Two machines in one folder, whose locks are real.
@Suite struct LeaseFileTests {
    private let folder: TemporaryFolder
    private let one: LeaseFile
    private let two: LeaseFile

    init() throws {
        try SecureHeap.initialize()
        folder = try TemporaryFolder()
        let keys = try VolumeKeys(
            volumeKey: Secret(copying: unsafe [UInt8](repeating: 1, count: 32).span.bytes),
            volume: VolumeIdentifier([UInt8](repeating: 2, count: 16)))
        one = try LeaseFile(in: DirectoryStore(path: Path(folder.path)), keys)
        two = try LeaseFile(in: DirectoryStore(path: Path(folder.path)), keys)
    }

    private static let objects = [
        LeaseObject.register, LeaseObject(number: 1), LeaseObject(number: 2), LeaseObject(fingerprint: .max),
    ]

    @Test func aLeaseHasItsHolders() throws {
        for object in Self.objects {
            #expect(try one.lock(object, .read))
            #expect(try two.lock(object, .read))
            #expect(try !one.lock(object, .write))
            try two.unlock(object)
            #expect(try one.lock(object, .write))
            #expect(try !two.lock(object, .read))
            try one.unlock(object)
            #expect(try two.lock(object, .write))
            try two.unlock(object)
        }
    }

    /// Locks of bytes side by side may be one lock to the store.
    @Test func eachWishIsFound() throws {
        let wishes = Set(
            Self.objects.map { Wish($0, .read) } + (3..<40).map { Wish(LeaseObject(number: $0), .write) }
                + [Wish(.register, .write)])
        for wish in wishes { try two.wish(wish, isOver: false) }
        #expect(try Set(one.wishes()) == wishes)
        #expect(try two.wishes().isEmpty, "its own")
        for wish in wishes { try two.wish(wish, isOver: true) }
        #expect(try one.wishes().isEmpty)
    }

    @Test func aSignIsSeen() throws {
        let (first, second) = (MachineNumber(1), MachineNumber(.max))
        #expect(try one.lockSign(of: first))
        #expect(try one.isSignLocked(of: first))
        #expect(try two.isSignLocked(of: first))
        #expect(try !two.lockSign(of: first))
        #expect(try !two.isSignLocked(of: second))
        #expect(try one.lockRecovery(of: second))
        #expect(try !two.lockRecovery(of: second))
        try one.unlockRecovery(of: second)
        #expect(try two.lockRecovery(of: second))
        try one.unlockSign(of: first)
        #expect(try !two.isSignLocked(of: first))
    }

    @Test func aRecordReplacesAnother() throws {
        func record(_ epoch: UInt64, _ state: MemberRecord.State) -> MemberRecord {
            MemberRecord(
                machine: MachineNumber(7), epoch: epoch, state: state, writer: MachineNumber(8), lease: .seconds(15))
        }
        #expect(try one.members().isEmpty)
        try one.write(record(1, .active))
        #expect(try two.members() == [record(1, .active)])
        try two.write(record(2, .left))
        #expect(try one.members() == [record(2, .left)])
    }

    /// One that another process has damaged hides no machine.
    @Test func aDamagedRecordIsNotOverlooked() throws {
        try one.write(
            MemberRecord(
                machine: MachineNumber(7), epoch: 1, state: .active, writer: MachineNumber(7), lease: .seconds(15)))
        _ = try folder.write("nothing", to: "lk.members/lk.member.0000000000000007")
        #expect(throws: Posix.Errno.EIO) { _ = try one.members() }
    }

    @Test func oneTurnAtATime() throws {
        let store = try DirectoryStore(path: Path(folder.path))
        var turn: SharedTurn? = try SharedTurn(in: store, patience: .zero)
        #expect(throws: Posix.Errno.ETIMEDOUT) { _ = try SharedTurn(in: store, patience: .zero) }
        #expect(throws: Posix.Errno.ECANCELED) {
            _ = try SharedTurn(in: store, patience: .seconds(9)) { _ in false }
        }
        withExtendedLifetime(turn) {}
        turn = nil
        _ = try SharedTurn(in: store, patience: .zero)
    }
}

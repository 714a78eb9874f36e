import Crypto
import DeviceKeys
import Failure
import Keybag
import Posix
import TPM
import TestSecrets
import TestSupport
import Testing

/// The lowest generation of a keybag, which a TPM counts.
@Suite(.timeLimit(.minutes(2))) struct TPMCounterTests {
    let machine: Machine

    init() throws {
        machine = try Machine()
    }

    /// That of a new key.
    private func created(_ kind: DeviceKeyKind = .tpm2(.none)) throws -> any GenerationCounter {
        let counter = try machine.create(kind).counter
        return try #require(counter)
    }

    @Test func onlyGrows() throws {
        let counter = try created()
        try counter.raise(to: 3)
        #expect(try counter.lowest() == 3)
        try counter.raise(to: 2)
        try counter.raise(to: 0)
        #expect(try counter.lowest() == 3)
        #expect(try machine.lowest() == 3)
        try machine.tpm.powerCycle()
        #expect(try machine.lowest() == 3)
    }

    @Test func isRaisedByAFewStepsAtATime() throws {
        let counter = try created()
        try counter.raise(to: 1000)
        #expect(try counter.lowest() == 65)
        try counter.raise(to: .max)
        #expect(try counter.lowest() == 129)
        try counter.raise(to: 130)
        #expect(try counter.lowest() == 130)
    }

    /// What a copy of the whole disk brings back: the file as it was.
    @Test func anOlderFileLowersNothing() throws {
        let counter = try created()
        let old = try machine.contents
        try counter.raise(to: 5)
        try Disk.write(old, to: machine.folder.path("device.key"))
        #expect(try machine.lowest() == 5)
    }

    @Test(arguments: [0, 1, 2, 9, 500, .max] as [UInt64]) func restarts(generation: UInt64) throws {
        let counter = try created()
        let before = try machine.load().bytes
        try counter.raise(to: 9)
        try counter.restart(at: generation)
        #expect(try counter.lowest() == generation)
        #expect(try machine.lowest() == generation)
        #expect(try machine.load().bytes == before)
        #expect(try machine.tpm.definedIndices().count == 1)
        guard generation < .max else { return }
        try counter.raise(to: generation + 2)
        #expect(try machine.lowest() == generation + 2)
    }

    /// With the PCRs that it was sealed with, and not while they differ: then their values are of no start.
    @Test func restartsWithItsRegisters() throws {
        let counter = try created(.tpm2(PCRSelection([16])!))
        try counter.raise(to: 4)
        try counter.restart(at: 2)
        #expect(try DeviceKeyLocation.kind(at: machine.path) == .tpm2(PCRSelection([16])!))
        #expect(try machine.lowest() == 2)
        let contents = try machine.contents
        try machine.tpm.extend(pcr: 16)
        #expect(failure { try counter.restart(at: 1) } == .otherPCRs)
        #expect(try machine.contents == contents)
        #expect(try counter.lowest() == 2)
    }

    /// Another key in the same place is not sealed over.
    @Test func restartsOnlyItsOwnKey() throws {
        let counter = try created()
        try machine.write(sealing: [UInt8](0..<32))
        #expect(failure { try counter.restart(at: 3) } == .notADeviceKey(path: machine.path))
        #expect(try machine.released() == [UInt8](0..<32))
        #expect(try counter.lowest() == 1)
    }

    /// A memory that is lost accuses nobody, until the owner begins a new one.
    @Test(arguments: [false, true]) func aLostOne(isAnotherThere: Bool) throws {
        let counter = try created()
        try counter.raise(to: 9)
        let index = try machine.tpm.definedIndices()[0]
        try machine.tpm.removeAsOwner(index: index)
        if isAnotherThere { try machine.tpm.defineOrdinaryIndex(index) }
        #expect(try counter.lowest() == 0)
        try counter.raise(to: 10)
        #expect(try counter.lowest() == 0)
        #expect(try machine.lowest() == 0)

        try counter.restart(at: 6)
        #expect(try counter.lowest() == 6)
        #expect(try machine.lowest() == 6)
        try counter.raise(to: 7)
        #expect(try machine.lowest() == 7)
    }

    @Test func aRemovedOne() throws {
        let counter = try created()
        counter.remove()
        #expect(try machine.tpm.definedIndices().isEmpty)
        counter.remove()
        #expect(try counter.lowest() == 0)
    }

    @Test func withoutItsTPM() throws {
        let counter = try created()
        machine.tpm.switchOff()
        guard case .hardware = failure({ _ = try counter.lowest() }),
            case .hardware = failure({ try counter.raise(to: 2) }),
            case .hardware = failure({ try counter.restart(at: 2) })
        else {
            Issue.record("no TPM answers, and nobody is told")
            return
        }
        counter.remove()
    }

    @Test func fromSeveralThreads() async throws {
        let counter = try created()
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { for generation in 2...6 as ClosedRange<UInt64> { try counter.raise(to: generation) } }
            }
            try await group.waitForAll()
        }
        #expect(try counter.lowest() == 6)
    }
}

import Posix
import TestStores
import Testing
import Writeback

@testable import Vault

/// What the journal says of a file whose header may not be on the disk.
@Suite struct NewFileTests {
    /// A durable name must have a file: a sync of the folder whose records failed half-way is made up for by the next.
    @Test func theNextSyncOfTheFolderTellsOfIt() throws {
        var failures = 0
        for step in 1..<20 {
            let test = try TestVault { FaultInjectingStore($0) }
            let faults = try #require(test.store as? FaultInjectingStore).faults
            let file = try test.create("file")
            faults.fail(.all, nth: step, with: .EIO)
            let isDone = (try? test.vault.synchronize(test.root)) != nil
            let injected = faults.injected
            faults.clear()
            if !isDone { failures += 1 }
            // A journal that cannot be written to refuses each later sync.
            if (try? test.vault.synchronize(test.root)) != nil {
                #expect(file.lock.withShared { file.state.journal.records } == .complete, "step \(step)")
            }
            if injected == 0 { break }
        }
        #expect(failures > 2)
    }

    /// Replay must not make a file from a header that confirms blocks which are in the backing file alone: another file
    /// may have its name by then.
    @Test func theJournalNoLongerClaimsAllOfAFileThatIsFlushedInPlace() throws {
        let test = try TestVault()
        let file = try test.create("file")
        func claimsAll() -> Bool { file.lock.withShared { file.state.journal.claimsAll } }
        try file.write([UInt8](repeating: 1, count: 40_960), at: 0)
        try file.truncate(to: 20_480)
        try file.synchronize(dataOnly: true)
        #expect(claimsAll())
        // The growth flushes the truncation, and with it the header.
        try file.write([2], at: 20_480)
        #expect(file.lock.withShared { file.state.durable.flushedGeneration } > 0)
        try file.write([UInt8](repeating: 3, count: 40 * 4096), at: 20_480)
        #expect(file.lock.withShared { file.state.dataSync() } == .confirmInPlace)
        try file.synchronize(dataOnly: true)
        #expect(!claimsAll())
        #expect(try file.contents(20_481).last == 3)
    }

    /// What lies in the journal alone is found although a later sync, which flushes in place, fails at any call.
    @Test(arguments: [Errno.EIO, .ENOSPC]) func whatWasSyncedStaysIfASyncInPlaceFails(errno: Errno) throws {
        var failures = 0
        for step in 1..<30 {
            let test = try TestVault { FaultInjectingStore($0) }
            let faults = try #require(test.store as? FaultInjectingStore).faults
            let file = try test.create("file")
            try file.write([UInt8](repeating: 1, count: 4096), at: 0)
            try file.synchronize(dataOnly: true)
            try file.write([UInt8](repeating: 2, count: 4096), at: 0)
            try file.synchronize(dataOnly: true)
            try file.write([UInt8](repeating: 3, count: 40 * 4096), at: 4096)
            faults.fail(.all, nth: step, with: errno)
            let isDone = (try? file.synchronize(dataOnly: true)) != nil
            let injected = faults.injected
            faults.clear()
            if !isDone { failures += 1 }
            // close(2) may fail, too: a journal that could not be written to takes no more records.
            try? file.persistLength()
            let (vault, root) = try test.afterDeath()
            let found = try vault.openFile("file", in: root)
            try found.loadKey()
            #expect(try found.contents(4096) == [UInt8](repeating: 2, count: 4096), "step \(step)")
            if injected == 0 { break }
        }
        #expect(failures > 1)
    }
}

import TestStores
import Testing
import Writeback

@testable import Vault

/// fdatasync(2) of many blocks flushes the file in place, and other threads may write to the file meanwhile.
@Suite struct DataSyncTests {
    @Test func aWriteMeanwhileBelongsToTheNextSync() throws {
        let hook = ActsDuringFlushes()
        let test = try TestVault { InterceptingStore($0, hook: hook) }
        let file = try test.create("file")
        let end = UInt64(2 * FileState.mostMirrored) * 4096
        try file.write([UInt8](repeating: 1, count: Int(end)), at: 0)
        hook.during(1, of: file) { try file.write([2], at: end) }
        try file.synchronize(dataOnly: true)
        if let failure = hook.failure { throw failure }
        // Calls count from here on.
        hook.duringFlushes(of: file) {}
        try file.synchronize(dataOnly: true)
        #expect(hook.most > 0, "the second one flushes what the first one could not know")
        hook.duringFlushes(of: file) {}
        try file.synchronize(dataOnly: true)
        #expect(hook.most == 0, "and a third one has nothing to do")
    }
}

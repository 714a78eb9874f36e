import TestSupport
import Testing

extension MountTests {
    /// Programs that write, map, append and sync in every class while their vault is locked and unlocked again and
    /// again: `tools/lock-cycles` does the same for longer.
    @Suite struct LockCycles {
        @Test(.timeLimit(.minutes(5)), arguments: ["fail", "freeze"], [false, true])
        func nothingAcknowledgedIsLost(_ whenLocked: String, isDeep: Bool) throws {
            let cycles = isDeep && whenLocked == "fail" ? 40 : 20
            let folder = try TemporaryFolder()
            let outcome = try run(
                "python3",
                [
                    "\(Built.project)/tools/lock-cycles", "--cycles", "\(cycles)", "--build", Built.folder, "--folder",
                    folder.path, "--when-locked", whenLocked,
                ] + (isDeep ? ["--deep"] : []),
                within: 240)
            try outcome.succeeded()
            #expect(outcome.text.contains("\(cycles) locks and unlocks"), "\(outcome)")
        }
    }
}

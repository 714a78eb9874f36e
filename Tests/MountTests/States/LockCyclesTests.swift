import TestSupport
import Testing

extension MountTests {
    /// Programs that write, map, append and sync in every class while their vault is locked and unlocked again and
    /// again: `tools/lock-cycles` does the same for longer.
    @Suite struct LockCycles {
        @Test(.timeLimit(.minutes(5)), arguments: ["fail", "freeze"])
        func nothingAcknowledgedIsLost(_ whenLocked: String) throws {
            let folder = try TemporaryFolder()
            let outcome = try run(
                "python3",
                [
                    "\(Built.project)/tools/lock-cycles", "--cycles", "20", "--build", Built.folder, "--folder",
                    folder.path, "--when-locked", whenLocked,
                ],
                within: 240)
            try outcome.succeeded()
            #expect(outcome.text.contains("20 locks and unlocks"), "\(outcome)")
        }
    }
}

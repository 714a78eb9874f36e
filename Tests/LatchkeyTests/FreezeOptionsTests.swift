import TestSupport
import Testing

@testable import latchkey

@Suite struct FreezeOptionsTests {
    /// A kernel that aborts requests after a timeout would end the mount.
    @Test(arguments: [
        (["0", "0"], [], true), (["0", "0"], ["--freeze-timeout", "900"], true),
        (["60", "0"], [], false), (["0", "60"], ["--freeze-timeout", "31"], false),
        (["60", "300"], ["--freeze-timeout", "30"], true), (["60", "300"], ["--freeze-timeout", "150"], false),
    ])
    func `a wait longer than the kernel's limit is refused`(_ limits: [String], _ words: [String], _ isAllowed: Bool)
        throws
    {
        let folder = try TemporaryFolder()
        for (name, limit) in zip(["default_request_timeout", "max_request_timeout"], limits) {
            _ = try folder.write(limit + "\n", to: name)
        }
        let options = try FreezeOptions.parse(["--when-locked", "freeze"] + words)
        if isAllowed {
            try options.checkKernel(folder.path)
        } else {
            #expect(throws: CommandError.self) { try options.checkKernel(folder.path) }
        }
        try FreezeOptions.parse([]).checkKernel(folder.path)
        try options.checkKernel("/nonexistent")
    }
}

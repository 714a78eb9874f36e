import Foundation
import TestSupport

/// `latchkey hold` with a command that runs until its input ends.
final class HeldCommand {
    let child: Child
    private let output: StreamFile
    private var input: Pipe? = Pipe()

    /// Returns when the mount lists the hold.
    ///
    /// - Parameter script: of a shell, with the input.
    init(
        _ mount: MountedVault, time: String = "600", options: [String] = [], _ script: String = "cat; exit 7"
    ) throws {
        output = try StreamFile()
        let before = try mount.status().holds?.count ?? 0
        child = try Child(
            Built.latchkey, ["hold", "--for", time, "--vault", mount.path] + options + ["sh", "-c", script],
            environment: mount.vault.environment, input: input!.fileHandleForReading.fileDescriptor,
            output: output.descriptor, errors: output.descriptor)
        try until("the hold of \(mount.path): \(said)") { try mount.status().holds?.count == before + 1 }
    }

    /// What it and the command have written.
    var said: String { String(decoding: output.contents, as: UTF8.self) }

    /// Ends the command's input.
    func endInput() { input = nil }

    /// Ends the command. Returns the exit status.
    func end() -> Int32 {
        endInput()
        return child.wait()
    }
}

import CrashSimulator
import Crypto
import Foundation
import Glibc
import Mount
import Posix
import Store
import TestStores
import Vault

/// `recorder VAULT MOUNTPOINT RECORDS`
///
/// Mounts a vault of the crash tests with all keys, and records all changes of its folder. Prints "mounted" when it
/// serves. It answers each line "count" on standard input with the number of records so far, which include everything
/// that was acknowledged before that line. After the unmount it writes the records to the file and prints "ended".
@main
struct Main {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 3 else { fail("usage: recorder VAULT MOUNTPOINT RECORDS", code: 2) }
        do {
            try record(arguments[1], at: arguments[2], to: arguments[3])
        } catch { fail("recorder: \(error)", code: 1) }
    }

    private static func record(_ path: String, at mountPoint: String, to file: String) throws {
        // As the daemon: the kernel has applied the umask of the process that makes a file in the mount.
        umask(0)
        signal(SIGPIPE, SIG_IGN)
        try SecureHeap.initialize()
        let store = try RecordingStore(DirectoryStore(path: Path(path)))
        let keys = try VaultKeys(of: store, deviceKey: path + ".key")
        let mount = try ProtectedMount(
            vault: keys.vault(over: store), at: Path(mountPoint), options: [], descriptorLimit: 1000, whenLocked: .fail
        ) { say("trouble \($0)") }
        mount.admit(try keys.classKeys())
        Thread.detachNewThread { answer(store.recorder) }
        say("mounted")
        try mount.start(threads: 12)
        try mount.run()
        let recorder = store.recorder
        let output = try Descriptor.open(path: file, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
        try unsafe output.write(RecordCoding.encode(recorder.records, found: recorder.foundCount).span.bytes, at: 0)
        say("ended")
    }

    private static func answer(_ recorder: Recorder) {
        while let line = readLine() {
            say(line == "count" ? "count \(recorder.count)" : "what is \(line)?")
        }
    }

    private static func fail(_ message: String, code: Int32) -> Never {
        say(message, to: 2)
        exit(code)
    }
}

/// Writes one line at once, to standard output unless told otherwise.
private func say(_ line: String, to descriptor: Int32 = 1) {
    let text = Array((line + "\n").utf8)
    _ = unsafe Glibc.write(descriptor, text, text.count)
}

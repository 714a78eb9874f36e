import TestSupport
import Testing

extension MountTests {
    /// Programs read and write a file while its class changes: a request that has passed the gate of the old class
    /// passes that of the new one.
    @Suite struct ClassChange {
        @Test func readsAndWritesGoOn() throws {
            let vault = try Vault(["--default-class", "complete"])
            try withMount(vault) { mount in
                let said = try run("python3", ["-c", Self.program, mount.path + "/file"]).succeeded().text
                #expect(said == "3000 changes\n")
                // Each gate was left as often as it was entered.
                try mount.lockNow()
                try shell("! cat file", in: mount.path).succeeded()
                try mount.unlock()
                #expect(try shell("tail -c 5 file", in: mount.path).succeeded().text == "bbbbb")
            }
        }

        private static let program = """
            import os, sys, threading
            path, size, changes = sys.argv[1], 65536, 3000
            with open(path, "wb") as file: file.write(b"a" * size + b"b" * size)
            file = os.open(path, os.O_RDWR)
            isDone, failures = threading.Event(), []

            def repeat(act):
                try:
                    while not isDone.is_set(): act()
                except Exception as error: failures.append(repr(error))

            def read():
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                assert os.pread(file, size, size) == b"b" * size

            threads = [threading.Thread(target=repeat, args=[act])
                       for act in (read, read, lambda: os.pwrite(file, b"a" * size, 0))]
            for thread in threads: thread.start()
            for number in range(changes):
                name = ("none", "complete", "complete-unless-open")[number % 3]
                os.setxattr(path, "user.latchkey.class", name.encode())
            os.setxattr(path, "user.latchkey.class", b"complete")
            isDone.set()
            for thread in threads: thread.join()
            print(*failures, changes, "changes")
            """
    }
}

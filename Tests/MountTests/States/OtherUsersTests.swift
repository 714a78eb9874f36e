import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Users who share a mount with its owner, by -o allow_other.
    @Suite(.enabled(if: geteuid() == 0, "another user is needed")) struct OtherUsers {
        /// A user who holds as many files and folders open as possible exhausts only his own share: the daemon keeps
        /// descriptors for its owner, for root and for a lock.
        @Test(arguments: ["files", "folders", "made"]) func holdFilesOpenUntilTheyAreRefused(_ what: String) throws {
            let vault = try Vault(["--default-class", "complete"])
            try shell("chmod 755 \(vault.folder.path)")
            try withMount(vault, options: ["-o", "allow_other"], descriptorLimit: 160) { mount in
                try shell("mkdir -m 777 \(mount.path)/theirs; chmod 755 \(mount.path)").succeeded()
                for number in 0..<200 { try Disk.write([1, 2, 3], to: mount.file("theirs/\(number)")) }
                try shell("chmod 644 \(mount.path)/theirs/*").succeeded()
                let said = try attempt("python3", ["-c", Self.script, what, mount.path, Built.latchkey])
                #expect(said.status == 0, "\(said)")
                // The user has as many as before once he has closed them.
                try mount.untilNothingIsOpen()
                try mount.unlock()
                let again = try attempt("python3", ["-c", Self.script, what, mount.path, Built.latchkey])
                #expect(again.status == 0, "\(again)")
            }
        }

        /// Opens files as two other users until both are refused; then works as the owner.
        private static let script = """
            import errno, os, subprocess, sys
            what, mount, latchkey = sys.argv[1:]
            held = 0
            end, keep = os.pipe()
            for user in (65534, 65533, 65532):
                ready, told = os.pipe()
                if os.fork() == 0:
                    os.setgroups([]); os.setgid(user); os.setuid(user)
                    files, error = [], None
                    for number in range(200):
                        try:
                            if what == "made":
                                files.append(os.open(f"{mount}/theirs/{user}-{number}", os.O_CREAT | os.O_RDWR))
                            elif what == "files":
                                files.append(os.open(f"{mount}/theirs/{number}", os.O_RDONLY))
                            else:
                                files.append(os.open(f"{mount}/theirs", os.O_RDONLY | os.O_DIRECTORY))
                        except OSError as caught:
                            error = caught.errno
                            break
                    os.write(told, b"%d %d" % (len(files), error or 0))
                    os.close(told)
                    os.close(keep)
                    os.read(end, 1)
                    os._exit(0)
                os.close(told)
                count, error = map(int, os.read(ready, 100).split())
                print(user, count, errno.errorcode.get(error), flush=True)
                if error != errno.EMFILE: sys.exit("not refused")
                held += count
            if not 20 <= held <= 40: sys.exit(f"{held} are held")
            files = [os.open(f"{mount}/theirs/{number}", os.O_RDWR) for number in range(150, 180)]
            files += [os.open(f"{mount}/new-{number}", os.O_CREAT | os.O_RDWR) for number in range(10)]
            for file in files: assert os.pwrite(file, b"new", 0) == 3
            for command in (["status", mount], ["lock", "--now", "--wait", mount], ["status", mount]):
                status = subprocess.run([latchkey, *command]).returncode
                if status: sys.exit(status)
            try:
                os.pread(files[0], 3, 0)
                sys.exit("it can be read while it is locked")
            except OSError as caught:
                if caught.errno != errno.ENOKEY: raise
            """
    }
}

import Foundation
import TestSupport
import Testing

extension MountTests {
    /// sshfs gives a file another inode number once its kernel has forgotten the file.
    @Suite struct InodeNumbers {
        @Test(.enabled(if: OtherStore.hasSSH, "sshfs or sftp-server is missing"))
        func aProgramKeepsWhatItHas() throws {
            let store = try OtherStore.ssh()
            let vault = try Vault(at: store.path + "/vault")
            // What was written just before is open until a checkpoint.
            try withMount(vault) { try run("python3", ["-c", Self.making, $0.path]) }
            // Few descriptors: the daemon does not keep each folder open.
            let mount = try MountedVault(vault, descriptorLimit: 256)
            let said = try run("python3", ["-c", Self.keeping, mount.path]).text
            try mount.unmount()
            #expect(said == "kept\n")
            try vault.latchkey(["fsck", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()
        }

        private static let making = """
            import os, sys
            os.chdir(sys.argv[1])
            os.mkdir("folder")
            with open("folder/file", "w") as file: file.write("text")
            for other in range(60): os.makedirs(f"others/{other}/inner")
            """

        private static let keeping = """
            import os, sys, time
            top = sys.argv[1]
            os.chdir(f"{top}/folder")
            kept = os.open("file", os.O_PATH)

            def wait_for_a_new_number(look, before):
                # The kernel keeps attributes for a second.
                end = time.monotonic() + 20
                while look().st_ino == before:
                    assert time.monotonic() < end, "the store has kept the number"
                    time.sleep(0.02)

            for turn in range(2):
                numbers = os.stat(".").st_ino, os.fstat(kept).st_ino
                for other in range(60): os.listdir(f"{top}/others/{other}/inner")
                with open("/proc/sys/vm/drop_caches", "w") as file: file.write("2")
                wait_for_a_new_number(lambda: os.stat("."), numbers[0])
                wait_for_a_new_number(lambda: os.fstat(kept), numbers[1])
                # Found anew by their names, they are what the program has.
                assert os.path.samestat(os.stat(f"{top}/folder"), os.stat(".")), turn
                assert os.getcwd() == f"{top}/folder", os.getcwd()
                assert os.path.samestat(os.stat(f"{top}/folder/file"), os.fstat(kept)), turn
                assert os.readlink(f"/proc/self/fd/{kept}") == f"{top}/folder/file"
                with open(f"/proc/self/fd/{kept}") as file: assert file.read() == "text"
            with open("file", "a") as file: file.write(" and more")
            with open(f"/proc/self/fd/{kept}") as file: assert file.read() == "text and more"
            os.chmod("file", 0o600)
            assert os.fstat(kept).st_mode & 0o777 == 0o600
            os.rename("file", "other")
            with open(f"/proc/self/fd/{kept}") as file: assert file.read() == "text and more"
            os.unlink("other")
            assert os.fstat(kept).st_nlink == 0
            print("kept")
            """
    }
}

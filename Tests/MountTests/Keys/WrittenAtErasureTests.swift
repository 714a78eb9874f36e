import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The daemon of an erased vault wipes its keys while its mount ends: it writes nothing by wiped keys. A block that
    /// is encrypted with zeros could be read by anybody.
    ///
    /// The keys come back from copies, as with the recovery key and a backup of the keybag.
    @Suite struct WrittenAtErasure {
        /// The race between the wiping and the end of the mount is lost in some of the rounds only.
        @Test func theJournalIsWhole() throws {
            let vault = try Vault()
            let keys = try KeptKeys(of: vault)
            for round in 0..<12 {
                let mount = try MountedVault(vault)
                try shell("echo x > file\(round)", in: mount.path).succeeded()
                try keys.erase(mount)
                let outcome = try vault.latchkey(["info", vault.path]).succeeded()
                #expect(!outcome.text.contains("damaged or was changed"), "round \(round): \(outcome)")
            }
            try withMount(vault) { _ in }
        }

        /// A round in two or three loses the race.
        @Test func filesAreWhole() throws {
            let vault = try Vault()
            let keys = try KeptKeys(of: vault)
            for round in 0..<12 {
                let mount = try MountedVault(vault)
                let said = try StreamFile()
                let writers = try (0..<4).map { number in
                    try Child(
                        "python3", ["-c", Self.writing, mount.path, "\(round)-\(number)"],
                        input: said.descriptor, output: said.descriptor, errors: said.descriptor)
                }
                // Each of them is in the mount, not in the bare mount point.
                try shell(
                    "for n in 0 1 2 3; do until [ -e \(round)-$n-9 ]; do :; done; done", in: mount.path
                ).succeeded()
                try keys.erase(mount)
                for writer in writers { #expect(writer.wait(seconds: 30) == 3, "the erasure came after the writers") }
                let found = try vault.fsck()
                #expect(found.damaged == 0 && found.complete && found.filesNotRead == 0, "round \(round): \(found)")
            }
        }

        /// Ends with status 3 at the first error of the mount, which it works in: by its path it would write into the
        /// bare mount point.
        private static let writing = """
            import os, sys, time
            os.chdir(sys.argv[1])
            block, end, count = os.urandom(100), time.monotonic() + 30, 0
            try:
                while time.monotonic() < end:
                    path = "%s-%d" % (sys.argv[2], count % 20)
                    count += 1
                    with open(path, "wb", buffering=0) as file:
                        # Each fsync signs: what is signed by zeros tells of the race most often.
                        for _ in range(4):
                            file.write(block)
                            os.fsync(file.fileno())
            except OSError: os._exit(3)
            """
    }
}

/// Copies of what an erasure destroys.
private struct KeptKeys {
    private let vault: Vault
    private let keyPath: String
    private let keybag: [UInt8]
    private let key: [UInt8]

    init(of vault: Vault) throws {
        self.vault = vault
        keyPath = try vault.deviceKeyFile()
        keybag = try Disk.read(vault.keybag)
        key = try Disk.read(keyPath)
    }

    /// Erases the vault of a mount, then brings its keys back.
    func erase(_ mount: MountedVault) throws {
        try vault.latchkey(["erase", "--yes", mount.path]).succeeded()
        mount.daemon.wait()
        mount.detach()
        try Disk.write(keybag, to: vault.keybag)
        try Disk.write(key, to: keyPath)
        try shell("chmod 600 '\(keyPath)'", in: "/").succeeded()
    }
}

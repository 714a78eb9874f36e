import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Failures whose cause lies in the machine: the advice works as it is written. Each runs in a mount namespace of
    /// its own, with other devices or another disk.
    @Suite(.enabled(if: geteuid() == 0, "needs root, for a mount namespace")) struct MachineAdvice {
        let vault: Vault
        let point: String

        init() throws {
            vault = try Vault()
            point = try vault.folder.makeFolder("m")
        }

        private func inNamespace(_ script: String, _ arguments: [String]) throws -> Outcome {
            try attempt(
                "unshare", ["-m", "bash", "-euc", script, "-"] + arguments, environment: vault.environment,
                directory: vault.folder.path)
        }

        /// The commands that the command advises.
        private func advice(_ outcome: Outcome) -> [String] {
            outcome.errors.split(separator: "\n").filter { $0.hasPrefix("  try: ") }.map { line in
                String(line.dropFirst("  try: ".count).prefix { $0 != "(" }).trimmingCharacters(in: .whitespaces)
            }
        }

        @Test func aReadOnlyDisk() throws {
            let disk = try vault.folder.makeFolder("disk")
            let mounting = """
                mount -t tmpfs none "$1"; cp -a "$2/." "$1"; mount -o remount,ro "$1"
                "${@:3}"
                """
            let options = [disk, vault.path, Built.latchkey]
            let refused = try inNamespace(mounting, options + ["mount", disk, point])
            #expect(refused.status == 1 && refused.errors.contains("Read-only file system"), "\(refused)")
            #expect(advice(refused) == ["latchkey mount -o ro \(disk) \(point)", "findmnt -T \(disk)"], "\(refused)")
            let commands = advice(refused).map { $0.replacing("latchkey ", with: "\(Built.latchkey) ") }
            let script = mounting.replacing("\"${@:3}\"", with: commands.joined(separator: "\n"))
            let taken = try inNamespace(script + "\n\(Built.latchkey) unmount \(point)", options)
            #expect(taken.status == 0 && taken.text.contains("tmpfs"), "\(taken)")

            let change = try inNamespace(
                mounting,
                options + ["passwd", "--passcode-file", vault.passcodeFile, "--new-passcode-file", vault.passcodeFile]
                    + [disk])
            #expect(change.status == 1 && advice(change) == ["findmnt -T \(disk)"], "\(change)")
        }

        /// Root gets no device that it may use, as in a container.
        @Test func aDeniedDevice() throws {
            let script = """
                mkdir dev; mount -t tmpfs -o nodev none dev; mknod dev/fuse c 10 229; mount --bind dev/fuse /dev/fuse
                "$@"
                """
            let outcome = try inNamespace(script, [Built.latchkey, "mount", vault.path, point])
            #expect(outcome.status == 1 && outcome.errors.contains("Permission denied"), "\(outcome)")
            #expect(advice(outcome).contains("ls -l /dev/fuse"), "\(outcome)")
            try shell("ls -l /dev/fuse")
        }

        @Test func aMissingDevice() throws {
            let script = """
                mkdir dev; mount -t tmpfs none dev
                for name in null urandom random zero; do touch dev/$name; mount --bind /dev/$name dev/$name; done
                mount --move dev /dev
                "$@"
                """
            let outcome = try inNamespace(script, [Built.latchkey, "mount", vault.path, point])
            #expect(outcome.status == 1 && outcome.errors.contains("cannot mount on \(point)"), "\(outcome)")
            let isContainer = Disk.exists("/.dockerenv") || Disk.exists("/run/.containerenv")
            let command = isContainer ? "docker run --device /dev/fuse --cap-add SYS_ADMIN …" : "modprobe fuse"
            #expect(advice(outcome) == [command], "\(outcome)")
        }

        /// A damaged file is told from a failing disk, and the advice finds it.
        @Test func aDamagedFile() throws {
            let mount = try MountedVault(vault)
            try shell("echo a > a", in: mount.path)
            let backing = try mount.backingPath("a")
            try mount.unmount()
            try Disk.edit(backing) { $0[40] ^= 1 }
            let again = try MountedVault(vault)
            let outcome = try again.latchkey("class", "get", again.file("a"))
            #expect(outcome.status == 6 && outcome.errors.contains("damaged, or was tampered with"), "\(outcome)")
            let fsck = "latchkey fsck --unlock \(vault.path)"
            #expect(advice(outcome) == ["latchkey unmount \(again.path)", fsck], "\(outcome)")
            try again.unmount()
            let checked = try vault.latchkey(["fsck", "--unlock", "--passcode-file", vault.passcodeFile, vault.path])
            #expect(checked.status == 6 && checked.text.contains("damage"), "\(checked)")
        }

        @Test func noTPM() throws {
            let rebind = ["device-key", "rebind", "--passcode-file", vault.passcodeFile, "tpm2", vault.path]
            let outcome = try attempt(
                Built.latchkey, rebind,
                environment: vault.environment.merging(["LATCHKEY_TCTI": "device:/nowhere"]) { $1 })
            #expect(outcome.status == 1 && outcome.errors.contains("no TPM answers"), "\(outcome)")
            #expect(advice(outcome).count == 1, "\(outcome)")
            try shell(advice(outcome)[0])
        }
    }
}

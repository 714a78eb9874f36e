import Foundation
import TestSupport
import Testing

extension MountTests {
    /// rsync copies into the same copy twice and compares only size and whole second of the modification time: the
    /// second run misses no change since the first one.
    @Suite struct RepeatedCopies {
        /// The files before, checkpointed, one for each change.
        private static let before = """
            mkdir plain linked replaced
            for file in appended overwritten grown shrunk regrown classed cleared renamed back rekeyed; do
                seq 2000 > plain/$file
            done
            setfattr -n user.latchkey.class -v complete plain/cleared
            seq 2000 > linked/one; ln linked/one linked/two; seq 2000 > linked/three
            seq 2000 > replaced/one; seq 2000 > replaced/two
            find . -type f -exec touch -d '2020-02-02 02:02:02.123456789' {} +
            """

        /// What changes headers and contents, and leaves size and time as they were if possible.
        private static let changes = """
            old='2020-02-02 02:02:02.123456789'
            printf more >> plain/appended; sync plain/appended
            printf X | dd of=plain/overwritten bs=1 seek=5000 conv=notrunc,fsync status=none
            printf more >> plain/grown
            truncate -s 5000 plain/shrunk
            truncate -s 100 plain/regrown; truncate -s 8893 plain/regrown; touch -d "$old" plain/regrown
            setfattr -n user.latchkey.class -v complete plain/classed
            setfattr -x user.latchkey.class plain/cleared; touch -d "$old" plain/cleared
            mv plain/renamed plain/elsewhere
            mv plain/back plain/there; mv plain/there plain/back
            tr 1-9 2-91 < replaced/one > replaced/one~; touch -d "$old" replaced/one~; sync replaced/one~
            mv replaced/one~ replaced/one
            tr 1-9 2-91 < replaced/two > replaced/two~; mv replaced/two~ replaced/two
            ln linked/three linked/four; touch -d '2020-02-02 02:02:02.123456789' linked/three
            ln linked/one plain/two
            """

        /// Within one second, if possible.
        private static let beginning = "now=$(date +%s); while [ $(date +%s) = $now ]; do :; done"

        /// How the vault is checkpointed.
        enum CheckpointTime: CaseIterable {
            case never, afterTheChange, afterTheFirstCopy
        }

        @Test(arguments: ["-a", "-aH", "-aH --modify-window=1"], CheckpointTime.allCases)
        func missNothing(options: String, checkpoint: CheckpointTime) throws {
            let vault = try Vault()
            try withMount(vault) { try shell(Self.before, in: $0.path).succeeded() }
            let (copy, kept) = (vault.folder.path("copy"), vault.folder.path("kept"))
            // Without -H the copy has a file of its own for each link.
            let listing = options.hasPrefix("-aH") ? Self.listing : Self.listing.replacing("%n ", with: "")
            let rsync = "rsync \(options) '\(vault.path)/' '\(copy)'"

            let mount = try MountedVault(vault)
            defer { mount.detach() }
            var script = checkpoint == .afterTheFirstCopy ? [Self.changes, rsync] : [rsync, Self.changes]
            // As some programs do: a new key, and everything else unchanged.
            script.insert("'\(Built.latchkey)' class set --rekey complete plain/rekeyed", at: 1)
            if checkpoint == .never { script.append(rsync) }
            try shell(
                ([Self.beginning] + script).joined(separator: "\n"), in: mount.path, environment: vault.environment
            ).succeeded()
            if checkpoint == .never { try keep(mount, listing, in: kept) }
            try mount.unmount()
            if checkpoint != .never { try shell(rsync).succeeded() }
            if checkpoint != .never { try withMount(vault) { try keep($0, listing, in: kept) } }

            let other = Vault(copy: copy, of: vault)
            let result = try other.fsck()
            #expect(result.damaged == 0 && result.leftovers == 0, "\(result.findings)")
            try withMount(other) { try check($0, listing, kept) }
            // And once more, after the mount of the copy has checkpointed all of it.
            #expect(try other.fsck().findings.isEmpty)
        }

        private static let listing = """
            find . -type f | sort | xargs getfattr -n user.latchkey.class
            find . -type f -printf '%p %n %s %m %T@\\n' | sort
            """

        private func keep(_ mount: MountedVault, _ listing: String, in folder: String) throws {
            try run("cp", ["-a", mount.path, folder]).succeeded()
            try shell("(\(listing)) > '\(folder).list'", in: mount.path).succeeded()
        }

        private func check(_ mount: MountedVault, _ listing: String, _ kept: String) throws {
            // Without --delete a removed name stays in the copy.
            try shell("rm -f plain/renamed", in: mount.path).succeeded()
            try shell("diff -r '\(kept)' . && (\(listing)) | diff '\(kept).list' -", in: mount.path).succeeded()
        }

        /// A keybag is as long as the one before it, and may have a time of the same second.
        @Test func aNewPasscodeIsInTheCopy() throws {
            let vault = try Vault()
            let copy = vault.folder.path("copy")
            let new = try vault.folder.write("another passcode", to: "new passcode")
            let rsync = "rsync -a '\(vault.path)/' '\(copy)'"
            try shell(
                """
                \(Self.beginning)
                '\(Built.latchkey)' passwd '\(vault.path)' --passcode-file '\(vault.passcodeFile)' \
                    --new-passcode-file '\(new)'
                \(rsync)
                '\(Built.latchkey)' passwd '\(vault.path)' --passcode-file '\(new)' \
                    --new-passcode-file '\(vault.passcodeFile)'
                \(rsync)
                """, environment: vault.environment
            ).succeeded()
            #expect(try Disk.read(copy + "/lk.keybag") == Disk.read(vault.keybag))
        }
    }

    /// The times that stat(2) shows are kept to the nanosecond, whatever writes the header.
    @Suite struct Times {
        private static let files = """
            for file in touched written synced moved linked classed chmodded stamped; do seq 2000 > $file; done
            printf X | dd of=written bs=1 seek=5000 conv=notrunc status=none
            touch -d '2020-02-02 02:02:02.123456789' touched
            touch -d '1960-01-01 00:00:00.000000001' synced; sync synced
            """

        private static let changes = """
            mv moved elsewhere; mv elsewhere moved
            ln linked again; rm again
            setfattr -n user.latchkey.class -v complete classed; setfattr -n user.latchkey.class -v none classed
            chmod 600 chmodded
            """

        private func times(_ mount: MountedVault) throws -> String {
            try shell("find . -type f -printf '%p %T@\\n' | sort", in: mount.path).succeeded().text
        }

        @Test(arguments: [false, true])
        func areKept(killed: Bool) throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            try shell(Self.files, in: mount.path).succeeded()
            let before = try times(mount)
            #expect(before.contains("./touched 1580608922.1234567890\n"))
            try shell(Self.changes, in: mount.path).succeeded()
            #expect(try times(mount) == before)
            // A copy by time sees the time that was set.
            let stamp = try shell("stat -c %Y '\(try mount.backingPath("stamped"))'").succeeded().text
            try shell("touch -d @\(stamp.dropLast()) stamped; sync stamped", in: mount.path).succeeded()
            let after = try times(mount)
            #expect(after.contains("./stamped \(stamp.dropLast()).0000000000\n"))
            if killed {
                try shell("sync *", in: mount.path).succeeded()
                #expect(try times(mount) == after)
                mount.kill()
                mount.detach()
                try withMount(vault, options: ["-o", "ro"]) { mount throws in #expect(try times(mount) == after) }
            } else {
                try mount.unmount()
            }
            try withMount(vault) { mount throws in #expect(try times(mount) == after) }
            try withMount(vault, options: ["-o", "ro"]) { mount throws in #expect(try times(mount) == after) }
            let facts = try run(
                "python3",
                [
                    Built.project + "/tools/read-vault.py", vault.path, "--device-key", vault.deviceKeyFile(),
                    "--passcode-file", vault.passcodeFile, "stat", "/touched",
                ])
            #expect(facts.text.contains("1580608922.123456789"), "\(facts)")
        }
    }
}

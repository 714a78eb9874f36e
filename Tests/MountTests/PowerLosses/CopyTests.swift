import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A vault is copied by rsync while programs write to it, and the copy is mounted in its place.
    @Suite struct Copies {
        /// Files that do not change during the copy, of every kind.
        private static let unchanged = """
            mkdir -p still/deep shared; seq 30000 > still/numbers; : > still/empty; printf x > shared/one
            setfattr -n user.latchkey.class -v complete still/numbers
            setfattr -n user.latchkey.class -v none shared/one
            setfattr -n user.note -v kept still/deep
            ln still/numbers still/deep/link; ln -s ../still shared/symbolic
            head -c 4096 /dev/zero > "still/deep/$(printf 'long %.0s' $(seq 40))"
            # Within one second of the copy rsync takes a time of a folder or a link for the same.
            find still shared -depth '(' -type d -o -type l ')' -exec touch -h -d '2020-02-02 02:02:02.123456789' {} +
            mkdir one two
            """

        private static let listing =
            "getfattr -R -h -d -m - still shared 2>/dev/null; find still shared -printf '%p %n %s %m %T@ %l\\n' | sort"

        private func listing(_ mount: MountedVault) throws -> String {
            try shell(Self.listing, in: mount.path).succeeded().text
        }

        @Test func ofAVaultInUse() throws {
            let vault = try Vault()
            // Checkpointed by a clean end.
            try withMount(vault) { try shell(Self.unchanged, in: $0.path).succeeded() }
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let kept = vault.folder.path("kept")
            try run("cp", ["-a", mount.path, kept]).succeeded()
            let listed = try listing(mount)
            let writers = try ["one", "two"].map { folder in
                let said = try StreamFile()
                let seed = "\(folder.utf8.reduce(0) { $0 * 256 + Int($1) })"
                let arguments = [mount.file(folder), seed]
                let load = try Child(
                    Built.load, arguments, input: said.descriptor, output: said.descriptor, errors: said.descriptor)
                return (said, load)
            }
            func acts() -> Int { writers.map { $0.0.contents.count { $0 == UInt8(ascii: ".") } }.min()! }
            func waitForActs(_ count: Int) {
                let end = ContinuousClock.now + .seconds(60)
                while acts() < count, ContinuousClock.now < end { usleep(2_000) }
            }
            let copies = (0..<3).map { vault.folder.path("copy\($0)") }
            for (index, copy) in copies.enumerated() {
                waitForActs(20 * (index + 1))
                // Into the last copy twice: rsync finds there a copy of another moment.
                for _ in 0..<(index == 2 ? 2 : 1) {
                    let outcome = try attempt("rsync", ["-aHX", vault.path + "/", copy])
                    #expect(Self.isExpected(outcome), "\(outcome.status): \(outcome.errors.split(separator: "\n"))")
                }
            }
            let before = acts()
            #expect(before >= 60, "there was no load")
            waitForActs(before + 1)
            #expect(acts() > before, "the load did not last")
            for (_, load) in writers {
                load.send(SIGKILL)
                load.wait()
            }
            try mount.unmount()
            for copy in copies { try check(copy, of: vault, kept, listed) }
            print("crash: rsync of a vault in use: \(copies.count) copies during \(before) acts of each writer")
        }

        /// A copier without support for hard links makes several files of one, with the same ID: a write to one of them
        /// does not change another, and is there after the daemon was killed.
        @Test func whoseLinksAreFilesOfTheirOwn() throws {
            let vault = try Vault()
            try withMount(vault) { try shell("seq 3000 > a; ln a b; ln a c", in: $0.path).succeeded() }
            let copy = vault.folder.path("copy")
            try run("rsync", ["-aX", vault.path + "/", copy]).succeeded()
            let other = Vault(copy: copy, of: vault)
            let look = """
                tail -qn 1 a b c; stat -c %h a b c
                for file in a b c; do seq 3000 | cmp -n 13893 - $file; done
                """
            let mount = try MountedVault(other)
            try shell(
                """
                exec 3>>a 4>>b; echo first >&3; echo second >&4; sync a b
                echo first again >&3; echo second again >&4; echo third >> c; sync a b c
                """, in: mount.path
            ).succeeded()
            let expected = "first again\nsecond again\nthird\n1\n1\n1\n"
            #expect(try shell(look, in: mount.path).text == expected)
            mount.kill()
            mount.detach()
            for options in [["-o", "ro"], []] {
                let text = try withMount(other, options: options) { try shell(look, in: $0.path).text }
                #expect(text == expected)
            }
        }

        /// Files have vanished meanwhile (24), or were truncated while rsync read them (23, ENODATA), or a summary has
        /// gone with its file: rsync lists the attributes' names and reads longer values twice.
        private static func isExpected(_ rsync: Outcome) -> Bool {
            let known = [
                "No data available (61)", "has vanished: ", "update discarded (will try again).", "rsync error: ",
                "failed to re-read xattr user.lk for ", "rsync warning: ",
            ]
            return [0, 24].contains(rsync.status)
                || rsync.status == 23
                    && rsync.errors.split(separator: "\n").allSatisfy { line in
                        known.contains { line.contains($0) }
                            || line.contains("xattr(") && line.hasSuffix("No such file or directory (2)")
                    }
        }

        /// Mounts the copy with the keys of the vault: unchanged files are there, all others are whole or refused, and
        /// it accepts changes.
        private func check(_ copy: String, of vault: Vault, _ kept: String, _ listed: String) throws {
            let other = Vault(copy: copy, of: vault)
            try withMount(other) { mount in
                for folder in ["still", "shared"] {
                    let difference = try attempt(
                        "diff", ["-r", "--no-dereference", "\(kept)/\(folder)", mount.file(folder)])
                    #expect(difference.status == 0, "\(difference)")
                }
                #expect(try listing(mount) == listed)
                let reading = try attempt("cp", ["-r", mount.path, vault.folder.path("read \(UUID())")])
                let refusals = reading.errors.split(separator: "\n").filter { !$0.hasSuffix("Input/output error") }
                #expect(refusals.isEmpty, "\(refusals)")
                try shell("seq 5000 > still/numbers; sync still/numbers; rm shared/one; mkdir new", in: mount.path)
                    .succeeded()
            }
            try withMount(other) { mount in
                let answer = try shell("seq 5000 | cmp - still/numbers; ls new shared", in: mount.path).succeeded()
                #expect(answer.text == "new:\n\nshared:\nsymbolic\n")
            }
        }
    }
}

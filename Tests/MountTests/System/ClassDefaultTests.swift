import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `class-default=` in fstab, and `latchkey mount --class-default`: the class of the vault's root folder.
    @Suite struct ClassDefaults {
        private func classOfRoot(_ mount: MountedVault) throws -> String {
            try mount.latchkey("class", "get", mount.path).succeeded().text
        }

        @Test func itNeedsNoPasscodeAndStays() throws {
            let vault = try Vault()
            for wanted in ["complete", "B", "NSFileProtectionNone"] {
                let name = ["B": "complete-unless-open", "NSFileProtectionNone": "none"][wanted] ?? wanted
                try withMount(vault, unlocked: false, options: ["--class-default", wanted]) { mount in
                    let text = try classOfRoot(mount)
                    #expect(text.contains(name), "\(wanted): \(text)")
                }
                try withMount(vault) { mount in
                    try shell("touch '\(wanted)'", in: mount.path).succeeded()
                    let made = try mount.latchkey("class", "get", mount.file(wanted)).succeeded().text
                    #expect(made.contains(name), "\(made)")
                }
            }
            let point = try vault.folder.makeFolder("point")
            #expect(try vault.latchkey(["mount", "--class-default", "secret", vault.path, point]).status == 2)
            // A detached daemon, too.
            try vault.latchkey(["mount", "--class-default", "complete", vault.path, point]).succeeded()
            #expect(try vault.latchkey(["class", "get", point]).succeeded().text.contains("complete"))
            try vault.latchkey(["unmount", point]).succeeded()
        }

        @Test func readOnlyItMustBeThereAlready() throws {
            let vault = try Vault(["--default-class", "complete"])
            let before = Disk.tree(vault.path)
            let point = try vault.folder.makeFolder("point")
            let refused = try vault.latchkey(["mount", "-o", "ro", "--class-default", "none", vault.path, point])
            #expect(refused.status == 1 && mountLines(of: point).isEmpty, "\(refused)")
            #expect(refused.errors.contains("has the class complete, and a read-only mount"), "\(refused)")
            #expect(refused.errors.contains("  try: latchkey mount -o ro \(vault.path) \(point)\n"), "\(refused)")
            try vault.latchkey(["mount", "-o", "ro", "--class-default", "A", vault.path, point]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            #expect(Disk.tree(vault.path).filter { !$0.hasPrefix("lk.") } == before.filter { !$0.hasPrefix("lk.") })
        }

        @Test func thePolicyApplies() throws {
            let vault = try Vault(["--default-class", "complete"])
            let policy = try vault.folder.write("minimum-class = \"complete-unless-open\"\n", to: "policy.toml")
            let point = try vault.folder.makeFolder("point")
            let command = ["mount", "--policy", policy, vault.path, point, "--class-default"]
            let refused = try vault.latchkey(command + ["C"])
            #expect(refused.status == 1 && refused.errors.contains(policy), "\(refused)")
            try vault.latchkey(command + ["B"]).succeeded()
            #expect(try vault.latchkey(["class", "get", point]).text.contains("complete-unless-open"))
            try vault.latchkey(["unmount", point]).succeeded()
        }

        /// A wrong passcode changes nothing.
        @Test func notWithAWrongPasscode() throws {
            let vault = try Vault(["--default-class", "complete"])
            let wrong = try vault.folder.write("wrong", to: "wrong")
            let point = try vault.folder.makeFolder("point")
            let command = ["mount", "--class-default", "none", "--passcode-file", wrong, vault.path, point]
            #expect(try vault.latchkey(command).status == 3)
            try withMount(vault) { mount in
                let text = try classOfRoot(mount)
                #expect(text.contains("complete"), "\(text)")
            }
        }

        @Test(.enabled(if: geteuid() == 0, "mount(8) takes a type from root only")) func inFstab() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                printf '%s %s latchkey noauto,user,class-default=complete 0 0\\n' "$vault" "$dir" > "$folder/fstab"
                mount -T "$folder/fstab" "$dir"
                "$latchkey" class get "$dir" | grep -q complete
                "$latchkey" status --json "$dir" | grep -q before-first-unlock
                mount -T "$folder/fstab" -o remount,ro "$dir"
                umount "$dir"
                fails 32 mount -t latchkey -o ro,class-default=none "$vault" "$dir"
                grep -q 'has the class complete' "$folder/errors"
                fails 1 mount -t latchkey -o class-default=secret "$vault" "$dir"
                mount -t latchkey -o ro,class-default=complete "$vault" "$dir"
                umount "$dir"
                mount -t latchkey -o class-default=none "$vault" "$dir"
                "$latchkey" class get "$dir" | grep -q none
                umount "$dir"
                """)
        }
    }
}

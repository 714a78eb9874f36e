import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `mount -o remount,…` of a running mount.
    @Suite(.enabled(if: geteuid() == 0, "only root may remount")) struct Remounting {
        @Test(arguments: ["latchkey", "fuse.latchkey"]) func readOnlyAndBack(_ type: String) throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                mount -t \(type) -o passcode-file="$passcode" "$vault" "$dir"
                echo before > "$dir/file"
                mount -o remount,ro "$dir"
                fails 1 touch "$dir/new"; grep -q 'Read-only file system' "$folder/errors"
                fails 1 mkdir "$dir/file"; grep -q 'File exists' "$folder/errors"
                "$latchkey" status --json "$dir" | grep -q '"readOnly" *: *true'
                [ "$(cat "$dir/file")" = before ]
                mount -o remount,rw "$dir"
                "$latchkey" status --json "$dir" | grep -q '"readOnly" *: *false'
                echo after > "$dir/file"
                mount -o remount,noexec "$dir"
                findmnt -no OPTIONS "$dir" | grep -q noexec
                findmnt -no OPTIONS "$dir" | grep -q nosuid
                umount "$dir"
                """)
        }

        /// After it nothing changes in the vault's folder, so that it can be copied: neither what was written before,
        /// nor an access time, nor a file that a rotation would give a new key.
        @Test func theVaultIsStill() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                mount -t latchkey -o passcode-file="$passcode" "$vault" "$dir"
                mkdir "$dir/files"
                for number in {100..499}; do echo "$number" > "$dir/files/$number"; done
                sync
                "$latchkey" rotate --yes --passcode-file "$passcode" --recovery-key-file "$folder/new" "$dir"
                echo last > "$dir/last"
                touch -ad '2 days ago' "$dir/last"
                mount -o remount,ro "$dir"
                tree > "$folder/before"
                [ "$(cat "$dir"/files/*)" = "$(seq 100 499)" ]
                [ "$(cat "$dir/last")" = last ]
                fails 1 "$latchkey" rotate "$dir"
                "$latchkey" unmount "$dir"
                tree | diff "$folder/before" - >&2
                mount -t latchkey -o passcode-file="$passcode" "$vault" "$dir"
                mount -o remount,ro "$dir"
                mount -o remount,rw "$dir"
                for try in {1..400}; do
                    "$latchkey" status --json "$dir" | grep -q '"rotation"' || break
                    [ "$try" != 400 ] && sleep 0.05
                done
                [ "$(cat "$dir"/files/*)" = "$(seq 100 499)" ]
                umount "$dir"
                """)
        }

        @Test func isRefusedWhileAFileIsOpenForWriting() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                mount -t latchkey -o passcode-file="$passcode" "$vault" "$dir"
                exec 5> "$dir/file"
                fails 32 mount -o remount,ro "$dir"
                grep -q 'status --holders' "$folder/errors"
                exec 5>&-
                umount "$dir"
                """)
        }

        @Test func refusesWhatItCannotChange() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                mount -t latchkey -o grace=3 "$vault" "$dir"
                mount -o remount,ro,grace=3 "$dir"
                fails 1 mount -o remount,grace=5 "$dir"
                mount -o remount,freshness=warn "$dir"
                fails 1 mount -o remount,freshness=strict "$dir"
                fails 1 mount -o remount,freshness=off "$dir"
                fails 1 mount -o remount,noatime "$dir"
                fails 1 mount -o remount,no-such-option "$dir"
                fails 1 runuser -u nobody -- mount.latchkey "$vault" "$dir" -o remount,rw
                findmnt -no OPTIONS "$dir" | grep -q '^ro,'
                umount "$dir"
                fails 32 mount.latchkey "$vault" "$dir" -o remount,ro
                """)
        }

        /// What /etc/fstab says of older files is bound by the policy, and a remount makes it no weaker.
        @Test func aPolicyBinds() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                echo 'freshness = "strict"' > "$folder/policy"
                fails 32 mount -t latchkey -o policy="$folder/policy",freshness=warn "$vault" "$dir"
                grep -q "weaker than the strict of $folder/policy, line 1" "$folder/errors"
                mount -t latchkey -o policy="$folder/policy" "$vault" "$dir"
                fails 1 mount -o remount,freshness=off "$dir"
                fails 1 mount -o remount,freshness=warn "$dir"
                mount -o remount,ro,freshness=strict "$dir"
                "$latchkey" status --json "$dir" | grep -q '"isStrict" *: *true'
                umount "$dir"
                """)
        }

        /// A mount that was remounted read-only may be written to again, so a copy made then is only mounted read-only.
        @Test func aCopyMadeMeanwhileIsNotWrittenTo() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                mount -t latchkey "$vault" "$dir"
                mount -o remount,ro "$dir"
                cp -a "$vault" "$folder/copy"; mkdir "$folder/other"
                fails 32 mount -t latchkey "$folder/copy" "$folder/other"
                grep -q 'only one of them can be written to' "$folder/errors"
                mount -t latchkey -o ro "$folder/copy" "$folder/other"
                mount -o remount,rw "$dir"
                "$latchkey" unmount "$folder/other"
                "$latchkey" unmount "$dir"
                """)
        }

        /// The daemon of a mount that began read-only has not opened the vault for writing. It refuses every change,
        /// even if root takes the kernel's refusal away without asking the helper.
        @Test func aMountThatBeganReadOnlyStaysSo() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                mount -t latchkey -o passcode-file="$passcode" "$vault" "$dir"
                echo contents > "$dir/file"; mkdir "$dir/folder"; ln -s file "$dir/link"
                "$latchkey" unmount "$dir"
                tree > "$folder/before"
                mount -t latchkey -o ro,passcode-file="$passcode" "$vault" "$dir"
                fails 32 mount -o remount,rw "$dir"
                mount -i -o remount,rw "$dir"
                findmnt -no OPTIONS "$dir" | grep -q '^rw,'
                cd "$dir"
                for change in 'touch new' 'touch file' 'mkdir new' 'rmdir folder' 'rm file' 'rm link' 'ln file new' \\
                    'ln -s file new' 'mv file new' 'mv folder new' 'mknod new p' 'chmod 600 file' 'chown 1 folder' \\
                    'truncate -s 0 file' 'dd if=/dev/null of=file' 'fallocate -l 9 file' \\
                    'setfattr -n user.a -v b file' 'setfattr -n user.latchkey.class -v none file' \\
                    'setfattr -x user.latchkey.class .'; do
                    fails 1 $change
                    grep -q 'Read-only file system' "$folder/errors" || fails 0 false "$change"
                done
                [ "$(cat file)" = contents ]
                cd /
                "$latchkey" unmount "$dir"
                tree | diff "$folder/before" - >&2
                """)
        }
    }
}

import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The program as mount(8)'s helper: `mount -t latchkey`, and lines of /etc/fstab.
    @Suite(.enabled(if: geteuid() == 0, "mount(8) takes a type from root only")) struct MountHelper {
        /// Five words with `-o` are a call of mount.fuse3(8) only if one is a path as fstab(5) has it.
        @Test func aMistypedCommandIsNoCallOfTheHelper() throws {
            let outcome = try attempt(Built.latchkey, ["umount", "work", "-o", "ro"])
            #expect(outcome.status != 0 && !outcome.errors.contains("latchkey init"), "\(outcome)")
            #expect(outcome.errors.contains("unmount"), "\(outcome)")
        }

        @Test func aLineOfFstab() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                more=grace=3,forget-after=2,passcode-file=$passcode
                printf '%s %s latchkey %s 0 0\\n' "$vault" "$dir" \\
                    "noauto,user,nofail,_netdev,x-systemd.automount,comment=mine,defaults,noexec,$more" \\
                    > "$folder/fstab"
                mount -T "$folder/fstab" "$dir"
                [ "$(findmnt -no FSTYPE,SOURCE "$dir" | tr -s ' ')" = "fuse.latchkey $vault" ]
                findmnt -no OPTIONS "$dir" | grep -q 'nosuid,nodev,noexec'
                "$latchkey" status --json "$dir" | grep -q '"grace" *: *3'
                "$latchkey" status --json "$dir" | grep -q '"forgetAfter" *: *7200'
                echo contents > "$dir/file"
                umount "$dir"
                # The keys are gone with the daemon, whose end the next mount waits for.
                mount -t latchkey "$vault" "$dir"
                "$latchkey" status --json "$dir" | grep -q before-first-unlock
                umount -t fuse.latchkey "$dir"
                """)
        }

        /// mount.fuse3(8) finds the program by the subtype, and calls it without the name of a command.
        @Test func throughMountFuse3() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                mount -t fuse.latchkey -o ro,passcode-file="$passcode" "$vault" "$dir"
                [ "$(findmnt -no FSTYPE "$dir")" = fuse.latchkey ]
                umount "$dir"
                mount -t fuse.latchkey -o passcode-file="$passcode" "$vault" "$dir"
                echo contents > "$dir/file"
                mount -o remount,ro "$dir"
                fails 1 touch "$dir/new"
                umount "$dir"
                """, helpers: ["latchkey"])
        }

        @Test func umount() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                mount -t latchkey -o passcode-file="$passcode" "$vault" "$dir"
                exec 5> "$dir/file"
                cd "$folder"
                fails 32 umount dir
                grep -q 'is in use' "$folder/errors"
                umount -l "$dir"
                fails 32 mountpoint -q "$dir"
                exec 5>&-
                mount -t latchkey -o passcode-file="$passcode" "$vault" "$dir"
                exec 5< "$dir/file"
                umount -r dir
                findmnt -no OPTIONS "$dir" | grep -q '^ro,'
                exec 5<&-
                # The helper returns after the daemon's end; umount -f does not wait for it.
                umount dir
                fails 32 umount.latchkey "$dir"
                fails 1 umount.latchkey
                fails 1 umount.latchkey "$dir" -Z
                mount -t latchkey "$vault" "$dir"
                umount -f "$dir"
                fails 32 mountpoint -q "$dir"
                """)
        }

        @Test func exitCodes() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                echo wrong > "$folder/wrong"
                fails 1 mount -t latchkey -o no-such-option "$vault" "$dir"
                fails 1 mount -t latchkey -o grace=long "$vault" "$dir"
                fails 1 mount -t latchkey -o setuid=no-such-user "$vault" "$dir"
                fails 1 mount.latchkey "$vault"
                fails 1 mount.latchkey "$vault" "$dir" -Z
                fails 1 runuser -u nobody -- mount.latchkey "$vault" "$dir" -o setuid=root
                fails 32 mount -t latchkey -o passcode-file="$folder/wrong" "$vault" "$dir"
                grep -q 'passcode is wrong' "$folder/errors"
                fails 32 mount -t latchkey "$folder" "$dir"
                mount -f -t latchkey -o grace=3 "$vault" "$dir"
                ! mountpoint -q "$dir"
                mount -s -t latchkey -o no-such-option,no-such=value "$vault" "$dir"
                fails 32 mount -t latchkey "$vault" "$folder"
                umount "$dir"
                fails 2 mount.latchkey "$vault" "$dir" -N /no/such/namespace
                """)
        }

        /// It works before the first unlock too, and changes only the root.
        @Test func theClassOfTheRoot() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                mount -t latchkey -o passcode-file="$passcode" "$vault" "$dir"
                mkdir "$dir/before"
                umount "$dir"
                for try in first again; do
                    mount -t latchkey -o class-default=complete "$vault" "$dir"
                    [ "$(getfattr --only-values -n user.latchkey.class "$dir")" = complete ]
                    umount "$dir"
                done
                mount -t latchkey -o ro,class-default=A "$vault" "$dir"
                umount "$dir"
                mount -t latchkey -o passcode-file="$passcode" "$vault" "$dir"
                touch "$dir/new"
                [ "$(getfattr --only-values -n user.latchkey.class "$dir/new")" = complete ]
                [ "$("$latchkey" class get "$dir/before" | cut -c 1)" = C ]
                umount "$dir"
                fails 1 mount -t latchkey -o class-default=secret "$vault" "$dir"
                fails 32 mount -t latchkey -o ro,class-default=none "$vault" "$dir"
                fails 32 mountpoint -q "$dir"
                """)
        }

        /// Root mounts at boot for a user: the daemon is the user's, and may no more than the user.
        @Test func theDaemonOfAnotherUser() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                key=$(echo "$XDG_STATE_HOME"/latchkey/*.key)
                chmod 755 "$folder" "$XDG_STATE_HOME"
                chown -R nobody "$vault" "$dir" "$XDG_STATE_HOME/latchkey" "$passcode"
                KEY_OF_ROOT=secret mount -t latchkey -o setuid=nobody,device-key="$key",passcode-file="$passcode" \\
                    "$vault" "$dir"
                pid=$("$latchkey" status --json "$dir" | sed -n 's/.*"pid" *: *\\([0-9]*\\).*/\\1/p')
                grep -q "^Uid:.$(id -u nobody).$(id -u nobody).$(id -u nobody)" "/proc/$pid/status"
                grep -q '^CapPrm:.0*$' "/proc/$pid/status"
                ! grep -qa KEY_OF_ROOT "/proc/$pid/environ"
                grep -qa HOME= "/proc/$pid/environ"
                grep -q "^Groups:.$(id -g nobody) *$" "/proc/$pid/status"
                runuser -u nobody -- sh -c 'echo mine > "$1/file"; cat "$1/file"' sh "$dir" | grep -q mine
                fails 1 cat "$dir/file"
                umount "$dir"
                """)
        }

        @Test func inAnotherNamespace() throws {
            let vault = try Vault()
            _ = try vault.system(
                """
                unshare --mount --propagation private sleep 1000 & other=$!
                trap 'kill "$other"' EXIT
                until [ "$(readlink "/proc/$other/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; do :; done
                mount -N "$other" -t latchkey -o passcode-file="$passcode" "$vault" "$dir"
                ! mountpoint -q "$dir"
                nsenter -t "$other" -m mountpoint -q "$dir"
                nsenter -t "$other" -m umount "$dir"
                """)
        }
    }
}

import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Mounted by an ordinary user with fusermount3, in a mount namespace of its own where /dev/fuse is open to all.
    @Suite struct OrdinaryUser {
        private static let missing: String? = {
            if geteuid() != 0 {
                return nil
            }
            for program in ["unshare", "setpriv", "fusermount3", "mknod", "prlimit"] {
                if (try? run("sh", ["-c", "command -v \(program)"])) == nil {
                    return "\(program) is not installed"
                }
            }
            return nil
        }()

        /// Runs a script as an ordinary user. If an ordinary user runs the tests, as that one.
        @discardableResult private func asOrdinaryUser(
            _ script: String, in folder: TemporaryFolder, user: uid_t = 65_534
        ) throws -> Outcome {
            let environment = Environment.plain.merging([
                "LATCHKEY": Built.latchkey, "PROBE": Built.probe, "XDG_STATE_HOME": folder.path("state"),
                "XDG_RUNTIME_DIR": folder.path("runtime"), "HOME": folder.path,
            ]) { $1 }
            let preparation = """
                refused() { if "$@" > /dev/null 2> errors; then echo "not refused: $*" >&2; exit 1; fi; }
                mkdir -m 700 state runtime; mkdir mount
                printf passcode > passcode
                "$LATCHKEY" init vault --kdf-memory 19 --kdf-passes 2 --passcode-file passcode \\
                    --recovery-key-file recovery
                """
            guard geteuid() == 0 else {
                return try shell("set -x\n" + preparation + "\n" + script, in: folder.path, environment: environment)
            }
            unsafe chown(folder.path, user, user)
            let device = folder.path("fuse")
            return try run(
                "unshare",
                [
                    "-m", "--propagation", "private", "sh", "-euc",
                    """
                    mknod -m 0666 '\(device)' c 10 229; mount --bind '\(device)' /dev/fuse
                    # fusermount3 wants the user to have a name.
                    { cat /etc/passwd; echo 'someone:x:\(user):\(user):::'; } > passwd; mount --bind passwd /etc/passwd
                    exec setpriv --reuid \(user) --regid \(user) --clear-groups sh -euxc "$1"
                    """, "sh", preparation + "\n" + script,
                ], environment: environment, directory: folder.path)
        }

        @Test func mountsLocksAndUnmounts() throws {
            if let missing = Self.missing {
                Issue.record("NOT TESTED: a mount by an ordinary user: \(missing)")
                return
            }
            let folder = try TemporaryFolder()
            try asOrdinaryUser(
                """
                "$LATCHKEY" mount vault mount --grace 1
                grep " $(pwd)/mount " /proc/self/mounts | grep nosuid | grep -q nodev
                test "$("$LATCHKEY" status mount --json | tr -d ' \\n' | grep -c before-first-unlock)" = 1
                "$LATCHKEY" unlock mount --passcode-file passcode
                echo contents > mount/file; setfattr -n user.latchkey.class -v complete mount/file
                test "$(stat -c %u mount/file)" = "$(id -u)"
                "$LATCHKEY" lock mount --now --wait
                refused cat mount/file; grep -q 'key not available' errors
                "$LATCHKEY" unlock mount --passcode-file passcode
                test "$(cat mount/file)" = contents
                # A write that might have to clear set-ID bits, and has none to clear, writes no header.
                # Each header has a time of its own.
                for number in $(seq 50); do echo line; done > mount/lines
                for file in vault/*; do test "$(stat -c %Y "$file")" -lt "$(($(date +%s) + 30))"; done
                # A key in its memory is not for the same user's other programs, either.
                daemon=$("$LATCHKEY" status mount --json | tr -d ' \\n' | sed 's/.*"pid":\\([0-9]*\\).*/\\1/')
                refused cat /proc/$daemon/environ; refused head -c 1 /proc/$daemon/mem
                test "$(stat -c %a /tmp/latchkey-$(id -u))" = 700
                "$LATCHKEY" unmount mount
                refused grep -q " $(pwd)/mount " /proc/self/mounts; ! grep -s "State:.*[^Z] (" /proc/$daemon/status
                """, in: folder
            ).succeeded()
        }

        /// A mount made in a session is found without the session's environment, and after logind has removed its
        /// folder; root finds and locks it too.
        @Test func isFoundWithoutTheSession() throws {
            if let missing = Self.missing {
                Issue.record("NOT TESTED: a mount by an ordinary user: \(missing)")
                return
            }
            let folder = try TemporaryFolder()
            try asOrdinaryUser(
                """
                "$LATCHKEY" mount vault mount --grace 1 --unlock --passcode-file passcode
                trap 'cd "$HOME"; "$LATCHKEY" unmount mount' EXIT
                echo contents > mount/file; setfattr -n user.latchkey.class -v complete mount/file
                rm -rf runtime; unset XDG_RUNTIME_DIR
                "$LATCHKEY" status | grep -q "^$(pwd)/mount"
                env -i "$LATCHKEY" status mount | grep -q unlocked
                env -i "$LATCHKEY" lock vault --now --wait
                refused cat mount/file
                "$LATCHKEY" unlock mount --passcode-file passcode; cat mount/file
                "$LATCHKEY" lock --all --now --wait | grep -q "$(pwd)/mount is locked"
                refused cat mount/file
                """, in: folder
            ).succeeded()
            guard geteuid() == 0 else { return }
            // A mount in a namespace of its own is not in root's table, but its daemon answers all the same.
            let another = try TemporaryFolder()
            try asOrdinaryUser(
                """
                "$LATCHKEY" mount vault mount --grace 1 --unlock --passcode-file passcode
                daemon=$("$LATCHKEY" status mount --json | tr -d ' \\n' | sed 's/.*"pid":\\([0-9]*\\).*/\\1/')
                prlimit --pid $daemon --nproc=1:1
                """, in: another
            ).succeeded()
            let vault = another.path("vault")
            defer { _ = try? run(Built.latchkey, ["unmount", vault]) }
            #expect(try run(Built.latchkey, ["status"]).text.contains(another.path("mount")))
            // No more threads can be created: the thread that receives calls answers them.
            try run(Built.latchkey, ["status", vault]).succeeded()
            try run(Built.latchkey, ["lock", "--all", "--now", "--wait"]).succeeded()
            #expect(try run(Built.latchkey, ["status", vault]).succeeded().text.contains("locked: A"))
        }

        @Test(.enabled(if: geteuid() == 0, "needs a user who has no other mounts"))
        func locksAllItsMountsDeeply() throws {
            if let missing = Self.missing {
                Issue.record("NOT TESTED: a mount by an ordinary user: \(missing)")
                return
            }
            try asOrdinaryUser(
                """
                "$LATCHKEY" mount vault mount --grace 1 --unlock --passcode-file passcode
                trap 'cd "$HOME"; "$LATCHKEY" unmount mount' EXIT
                echo contents > mount/file
                "$LATCHKEY" lock --all --now --wait; cat mount/file
                "$LATCHKEY" lock --deep --all --wait | grep -q "$(pwd)/mount is locked deeply"
                refused cat mount/file; grep -q 'key not available' errors
                "$LATCHKEY" status mount --json | tr -d ' \\n' | grep -q '"deep":true'
                "$LATCHKEY" unlock mount --passcode-file passcode
                test "$(cat mount/file)" = contents
                """, in: try TemporaryFolder(), user: 61_402
            ).succeeded()
        }

        /// However few threads the user may have, either the mount is refused and nothing stays, or it works
        /// completely.
        @Test(.enabled(if: geteuid() == 0, "needs a user who runs nothing else")) func whereThreadsRunOut() throws {
            if let missing = Self.missing {
                Issue.record("NOT TESTED: a mount by an ordinary user: \(missing)")
                return
            }
            let folder = try TemporaryFolder()
            try asOrdinaryUser(
                """
                set +x
                limit=0; said=; status=1
                while test $status != 0; do
                    limit=$((limit + 1)); test $limit -lt 60
                    status=0
                    prlimit --nproc=$limit: "$LATCHKEY" mount vault mount --grace 1 --unlock --passcode-file passcode \
                        > said 2>&1 || status=$?
                    case $status in
                    0) ;;
                    1) said="$said$(cat said)"; refused grep -q " $(pwd)/mount " /proc/self/mounts;;
                    *) echo "limit $limit: exit $status: $(cat said)" >&2; exit 1;;
                    esac
                done
                trap 'cd "$HOME"; "$LATCHKEY" unmount mount' EXIT
                case $said in *"cannot make a thread"*) ;; *) echo "never refused: $said" >&2; exit 1;; esac
                echo contents > mount/file; setfattr -n user.latchkey.class -v complete mount/file
                "$LATCHKEY" lock mount --now --wait
                refused cat mount/file
                "$LATCHKEY" unlock mount --passcode-file passcode
                test "$(cat mount/file)" = contents
                "$LATCHKEY" lock mount --wait
                daemon=$("$LATCHKEY" status mount --json | tr -d ' \\n' | sed 's/.*"pid":\\([0-9]*\\).*/\\1/')
                prlimit --pid $daemon --nproc=1:
                "$LATCHKEY" unlock mount --passcode-file passcode
                "$LATCHKEY" lock mount --now --wait
                "$LATCHKEY" status mount | grep -q locked
                # fusermount3 cannot be started: that is said, and the mount goes on.
                refused "$LATCHKEY" unmount mount; grep -q 'Resource temporarily unavailable' errors
                "$LATCHKEY" status mount | grep -q locked
                prlimit --pid $daemon --nproc=100:
                kill -TERM $daemon
                trap - EXIT
                tries=0
                while kill -0 $daemon 2> /dev/null; do tries=$((tries + 1)); test $tries -lt 500; sleep 0.02; done
                refused grep -q " $(pwd)/mount " /proc/self/mounts
                """, in: folder, user: 61_234)
        }

        /// What ext4 allows the owner of a file, whatever its mode; and what programs see of a file that is only read.
        @Test func modesStandInTheWayOfNothingThatExt4Allows() throws {
            if let missing = Self.missing {
                Issue.record("NOT TESTED: a mount by an ordinary user: \(missing)")
                return
            }
            let folder = try TemporaryFolder()
            try asOrdinaryUser(
                """
                "$LATCHKEY" mount vault mount
                "$LATCHKEY" unlock mount --passcode-file passcode
                trap 'cd "$HOME"; "$LATCHKEY" unmount mount' EXIT
                cd mount
                refused() { if "$@" > /dev/null 2> ../errors; then echo "not refused: $*" >&2; exit 1; fi; }

                echo contents > read; setfattr -n user.latchkey.class -v complete read; chmod 0444 read
                # Whatever is known of it is asked for anew.
                anew() { cd ..; "$LATCHKEY" unmount mount; "$LATCHKEY" mount vault mount
                    "$LATCHKEY" unlock mount --passcode-file passcode; cd mount; }
                anew; changed=$(stat -c %z read)
                test "$(cat read)" = contents; tar -cf ../read.tar read
                test "$(getfattr --only-values -n user.latchkey.class read)" = complete
                test "$(stat -c %z read)" = "$changed"; anew; test "$(stat -c %z read)" = "$changed"
                refused sh -c 'echo more >> read'
                mv read renamed; ln renamed second; test "$(stat -c %a:%h renamed)" = 444:2
                test "$(cat second)" = contents; rm -f renamed second
                echo hidden > hidden; chmod 0 hidden; anew
                test "$(stat -c %a:%s hidden)" = 0:7; refused cat hidden
                mv hidden shown; chmod 0600 shown; test "$(cat shown)" = hidden

                mkdir folder; echo in > folder/file; chmod 0555 folder; anew
                test "$(stat -c %a folder)" = 555; test "$(cat folder/file)" = in
                refused touch folder/new; refused mv folder/file elsewhere
                changed=$(stat -c %z folder); ls -l folder; test "$(stat -c %z folder)" = "$changed"
                mv folder moved; test "$(stat -c %a moved)" = 555; test "$(cat moved/file)" = in
                chmod 0755 moved; rm -r moved
                mkdir closed; chmod 0 closed; anew; test "$(stat -c %a closed)" = 0; refused ls closed
                mv closed away; rmdir away
                mkdir classed; setfattr -n user.latchkey.class -v complete classed; chmod 0555 classed
                # As on ext4: attributes of this kind take the permission to write.
                refused setfattr -n user.latchkey.class -v none classed
                mv classed set; chmod 0755 set; setfattr -n user.latchkey.class -v none set
                test "$(getfattr --only-values -n user.latchkey.class set)" = none

                git init -q repository; cd repository; echo one > a; git add a; git commit -qm one
                echo two >> a; git commit -qam two; git gc -q --prune=now
                test -n "$(find .git -name '*.pack' -perm 0444)"; cd ..
                anew; cd repository
                git fsck --strict; test -z "$(git status --porcelain)"; git diff-files --quiet
                git clone -q . ../clone; cd ..; rm -rf repository; test "$(git -C clone log --oneline | wc -l)" = 2
                rm -rf clone; cd ..
                """, in: folder
            ).succeeded()
        }
    }
}

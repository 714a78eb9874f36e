import TestSupport
import Testing

extension MountTests {
    /// The agent tells of files that are older than this machine has seen: docs/DESKTOP.md, "Older files".
    @Suite(.serialized) struct OlderFilesNotices {
        private func run(_ script: String, user: UInt32) throws {
            if let missing = AgentScript.missing {
                Issue.record("NOT TESTED: the agent of an ordinary user: \(missing)")
                return
            }
            try AgentScript.run(Self.scene + script, user: user)
        }

        /// Three files that were changed, and a way to put back what they were before.
        private static let scene = """
            mock notification_daemon "$session_bus" org.freedesktop.Notifications
            vault=$(dirname "$(find "$PWD/.local" -name lk.keybag -path '*work*')")
            open_work() { latchkey open work --passcode-file passcode > /dev/null; }
            for file in file second third; do printf 1 > work/$file; done
            latchkey close work; cp -a "$vault" before; open_work
            for file in file second third; do printf 2 > work/$file; done
            latchkey close work
            put_back() { (cd before; find . -type f ! -name 'lk.*' -exec cp -a --parents {} "$vault" \\;); }
            put_back
            # told COUNT: how often a person was told.
            told() { test "$(grep -c 'Notify "Latchkey".*"Older files' notification_daemon.log)" = "$1"; }
            says() { grep -e "$1" notification_daemon.log; }
            found() { latchkey status work | grep "$1 older than"; }
            pid() { latchkey status --json "$1" | sed -n 's/.*"pid" : \\([0-9]*\\).*/\\1/p'; }
            # stopped DAEMON: it does not answer from now on.
            stopped() { kill -STOP "$1"; trap "kill -CONT $1; stop" EXIT; }

            """

        /// Once for each mount, and once more for what it finds after nothing older was left. Each count is looked at
        /// after a later notice has come.
        @Test func once() throws {
            try run(
                """
                agent
                # The agent learns of the mount from the kernel's table.
                open_work
                told 0
                cat work/file
                tries told 1
                says "Notify \\"Latchkey\\" 0 .*\\"$PWD/work: 1 file is older than this machine has seen"
                says "latchkey status $PWD/work" && says 'latchkey accept FILE'
                cat work/second; tries found '2 files'
                latchkey accept work/file work/second; refused found ''
                cat work/third; tries told 2
                # A notice that comes later does not take its place.
                hint LockedHint true; tries says 'Notify "Latchkey" 0 .*"Locking in 600 seconds"'
                hint LockedHint false; tries is unlocked
                # None of them if the configuration says so.
                latchkey close work; put_back
                printf '[agent]\\nnotifications = false\\n' >> .config/latchkey/config.toml
                open_work; cat work/file; tries found '1 file'
                hint LockedHint true; tries is locking; hint LockedHint false; tries is unlocked
                latchkey close work
                sed -i '/^notifications/d' .config/latchkey/config.toml
                latchkey mount --freshness strict --unlock --passcode-file passcode work
                refused cat work/file
                tries says '"Older files are refused"'
                told 3
                """, user: 61_270)
        }

        /// A vault that looks like a copy of earlier: what to type is another command.
        @Test func theWholeVault() throws {
            try run(
                """
                agent
                rm -r "$vault"; cp -a before "$vault"
                open_work; find work -type f -exec cat {} + > /dev/null
                tries says "If you have restored the vault, type: latchkey accept --all $PWD/work"
                """, user: 61_271)
        }

        /// A daemon that does not answer delays no lock, before the agent has reached it and after that.
        @Test func aDaemonThatDoesNotAnswer() throws {
            try run(
                """
                make --name other --default-class complete
                printf 'grace = 600\\n' >> .config/latchkey/config.toml
                latchkey open other --passcode-file passcode
                other() { test "$(latchkey status --json other | sed -n 's/.*"state" *: *"\\([a-z-]*\\)".*/\\1/p')" = "$1"; }
                other_locks() {
                    hint LockedHint true; tries other locking
                    hint LockedHint false; tries other unlocked
                }
                open_work; cat work/file; tries found '1 file'
                daemon=$(pid work)
                stopped $daemon
                agent
                other_locks
                told 0
                kill -CONT $daemon
                tries told 1
                stopped $daemon
                other_locks
                """, user: 61_272)
        }
    }
}

import TestSupport
import Testing

extension MountTests {
    /// The agent beside other clients, and vaults that are just being opened.
    @Suite(.serialized) struct AgentRaces {
        private func run(_ script: String, user: UInt32) throws {
            if let missing = AgentScript.missing {
                Issue.record("NOT TESTED: the agent of an ordinary user: \(missing)")
                return
            }
            try AgentScript.run(Self.slow + script, user: user)
        }

        /// A vault whose keys take seconds to derive, and a way to see that a process does it.
        private static let slow = """
            slow() {
                latchkey init --name slow --passcode-file passcode --kdf-memory 256 --kdf-passes 8 \\
                    --recovery-key-file slow-recovery > /dev/null
            }
            # derives: whether a process of this user does that.
            derives() {
                local process
                for process in $(pgrep -u "$(id -u)" -x latchkey); do
                    test "$(awk '/^VmRSS/ { print $2 }' "/proc/$process/status")" -lt 200000 || return 0
                done
                return 1
            }
            state() { latchkey status --json "$1" | sed -n 's/.*"state" *: *"\\([a-z-]*\\)".*/\\1/p'; }
            open() { test "$(state "$1")" = unlocked; }
            closed() { ! open "$1"; }

            """

        /// An unlock that is under way when a source speaks leaves nothing open behind it.
        @Test func anUnlockUnderWay() throws {
            try run(
                """
                slow
                latchkey mount slow
                agent
                unlock_slow() { latchkey unlock --passcode-file passcode slow & unlocking=$!; tries derives; }
                unlock_slow
                hint LockedHint true; tries heard session-lock
                wait $unlocking || true
                closed slow
                hint LockedHint false; tries is unlocked
                unlock_slow
                signal '' Manager PrepareForSleep b '[<true>]'; tries released
                wait $unlocking || true
                closed slow
                """, user: 61_263)
        }

        /// A vault that was not mounted yet when a source spoke is locked as soon as it is there.
        @Test func aVaultThatIsBeingOpened() throws {
            try run(
                """
                slow
                agent
                begin() { "$LATCHKEY" open --passcode-file passcode slow & opening=$!; tries derives; }
                begin
                hint LockedHint true; tries heard session-lock
                wait $opening
                tries closed slow
                hint LockedHint false; tries open slow
                latchkey close slow
                begin
                signal '' Manager PrepareForSleep b '[<true>]'; tries released
                wait $opening
                signal '' Manager PrepareForSleep b '[<false>]'
                tries closed slow
                # What a person opens later stays open, and so does what is opened after the reason is gone.
                latchkey close slow
                hint LockedHint true; tries heard session-lock; hint LockedHint false; tries is locked
                latchkey open --passcode-file passcode slow
                hint IdleHint true; tries heard idle; hint IdleHint false
                tries open slow
                """, user: 61_264)
        }

        /// The passcode of a login opens nothing after the screen was locked.
        @Test func aLoginThatWaitsForAVault() throws {
            try run(
                """
                make --name later
                printf 'unlock-at-login = true\\n' >> .config/latchkey/config.toml
                agent
                login() { tr -d '\\n' < passcode | "$LATCHKEY" ---login unlock-later $$ & helper=$!; }
                # waits: whether it has read the passcode, into locked memory.
                waits() { grep -q '^VmLck:.* [1-9]' "/proc/$helper/status"; }
                login
                latchkey mount later
                wait $helper
                open later
                latchkey close later
                login; tries waits
                hint LockedHint true; tries heard session-lock
                latchkey mount later
                wait $helper
                closed later
                """, user: 61_265)
        }

        /// What happens in the grace does not keep the agent from taking its lock back.
        @Test func aGraceThatHasChanged() throws {
            try run(
                """
                agent
                cat > deeply.py << 'EOF'
                import glob, json, os, socket
                one = socket.socket(socket.AF_UNIX)
                one.connect(glob.glob(f"/tmp/latchkey-{os.getuid()}*/*.socket")[0])
                for method, parameters in (("Lock", {"deep": True}), ("TakeBackLock", {})):
                    one.sendall(json.dumps({"method": "io.latchkey." + method, "parameters": parameters}).encode() + b"\\0")
                    answer = b""
                    while not answer.endswith(b"\\0"): answer += one.recv(65536)
                    print(json.loads(answer[:-1])["parameters"]["status"]["state"])
                EOF
                hint LockedHint true; tries is locking
                test "$(python3 deeply.py)" = "$(printf 'locking\\nlocking')"
                hint IdleHint true; tries heard idle; hint IdleHint false
                hint LockedHint false; tries is unlocked
                # Another lock that stands: the agent says so.
                mock notification_daemon "$session_bus" org.freedesktop.Notifications
                hint LockedHint true; tries is locking
                latchkey lock work
                hint LockedHint false
                says() { grep -q "$1" notification_daemon.log; }
                tries says 'Notify "Latchkey".*"The lock could not be taken back"'
                latchkey agent --status | grep -q 'session-lock .*1 not taken back'
                is locking
                # logind's Unlock is only a wish, as long as the screen is locked.
                unlock
                hint LockedHint true; tries is locking
                signal /session/c1 Session Unlock '' '[]'
                hint IdleHint true; tries heard idle; hint IdleHint false
                is locking
                hint LockedHint false; tries is unlocked
                # A source that is switched off in the grace that it has begun.
                hint IdleHint true; tries is locking
                printf '[agent]\\noff = ["idle"]\\n' >> .config/latchkey/config.toml
                hint IdleHint false; tries is unlocked
                """, user: 61_266)
        }

        /// Daemons that answer with anything end neither the agent nor a command, nor use up its descriptors.
        @Test func daemonsThatAnswerAnything() throws {
            try run(
                """
                cat > daemons.py << 'EOF'
                import glob, json, os, secrets, selectors, socket
                folder = glob.glob(f"/tmp/latchkey-{os.getuid()}*")[0]
                one = socket.socket(socket.AF_UNIX)
                one.connect(glob.glob(f"{folder}/*.socket")[0])
                one.sendall(b'{"method":"io.latchkey.Status"}\\0')
                answer = b""
                while not answer.endswith(b"\\0"): answer += one.recv(65536)
                status = json.loads(answer[:-1])["parameters"]["status"]
                one.close()
                selector = selectors.DefaultSelector()
                for number in range(40):
                    listener = socket.socket(socket.AF_UNIX)
                    listener.bind(f"{folder}/{number:032x}.socket")
                    listener.listen(100)
                    selector.register(listener, selectors.EVENT_READ, True)
                print("ready", flush=True)
                while True:
                    for key, _ in selector.select():
                        if key.data:
                            selector.register(key.fileobj.accept()[0], selectors.EVENT_READ, False)
                            continue
                        call = key.fileobj.recv(65536)
                        if not call:
                            selector.unregister(key.fileobj)
                            key.fileobj.close()
                            continue
                        locks = b".Lock" in call
                        said = dict(status, instance=secrets.token_hex(16), state="locking" if locks else "unlocked",
                            graceRemaining=1e19, deadline=-1e300, changed=1e300, lastLockDuration=1e300,
                            rotation=dict(phase="renewing", done=1e300, files=1, renewed=0, failed=0))
                        key.fileobj.sendall(json.dumps({"parameters": {"status": said}}).encode() + b"\\0")
                EOF
                says() { latchkey agent --status | grep -q "$1"; }
                agent
                python3 daemons.py > said & children+=($!)
                tries grep -q ready said
                descriptors() { ls "/proc/$agent/fd" | wc -l; }
                latchkey status > output
                for round in 1 2 3 4; do
                    hint LockedHint true; tries is locking
                    tries says "session-lock .*41 locking"
                    hint LockedHint false
                    if test $round = 1; then tries is unlocked; else unlock; fi
                done
                test "$(descriptors)" -lt 120
                kill -0 $agent
                """, user: 61_267)
        }
    }
}

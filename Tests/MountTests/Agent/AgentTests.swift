import TestSupport
import Testing

extension MountTests {
    /// The agent locks a real mount over its control socket.
    @Suite(.serialized) struct Agents {
        private func run(_ script: String, user: UInt32) throws {
            if let missing = AgentScript.missing {
                Issue.record("NOT TESTED: the agent of an ordinary user: \(missing)")
                return
            }
            try AgentScript.run(script, user: user)
        }

        /// Each source begins the grace; one that can end cancels it, and unlocks nothing.
        @Test func eachSource() throws {
            try run(
                """
                mock upower "$system_bus" org.freedesktop.UPower
                agent
                begun() { tries is locking; tries heard "$1"; }
                ended() { tries is unlocked; cat work/file; }
                signal /session/c1 Session Lock '' '[]'; begun session-lock
                signal /session/c1 Session Unlock '' '[]'; ended
                hint LockedHint true; begun session-lock; hint LockedHint false; ended
                hint Active false; begun session-inactive; hint Active true; ended
                hint IdleHint true; begun idle; hint IdleHint false; ended
                lid true; begun lid; lid false; ended
                for name in org.freedesktop org.gnome org.cinnamon org.mate org.xfce; do
                    for state in true false; do
                        busctl --address="$session_bus" emit /ScreenSaver $name.ScreenSaver ActiveChanged b $state
                        if test $state = true; then begun screensaver; else ended; fi
                    done
                done
                # Two want it: both must have ended.
                hint LockedHint true; hint IdleHint true; hint LockedHint false; begun session-lock
                hint IdleHint false; ended
                # The last session ends, and no signal cancels that.
                signal '' Manager SessionRemoved so "[<'c1'>, <objectpath '/org/freedesktop/login1/session/c1'>]"
                begun logout
                latchkey lock --now --wait work
                refused cat work/file
                # A locked vault stays locked.
                hint LockedHint true; hint LockedHint false; tries heard session-lock; is locked
                """, user: 61_250)
        }

        /// Before sleep and shutdown the machine waits until the keys are gone, each time anew.
        @Test func sleepAndShutdown() throws {
            try run(
                """
                agent
                for round in 1 2; do
                    tries inhibited
                    signal '' Manager PrepareForSleep b '[<true>]'
                    tries released; is locked
                    refused cat work/file
                    signal '' Manager PrepareForSleep b '[<false>]'
                    tries inhibited; heard sleep; unlock
                    test "$(cat work/file)" = contents
                done
                # In the middle of a grace.
                signal /session/c1 Session Lock '' '[]'; tries is locking
                signal '' Manager PrepareForSleep b '[<true>]'; tries released; is locked
                signal '' Manager PrepareForSleep b '[<false>]'; unlock
                tries inhibited
                signal '' Manager PrepareForShutdown b '[<true>]'; tries released; is locked
                """, user: 61_251)
        }

        /// A lock for the screen waits for a program that holds it; one for the sleep or the shutdown does not.
        @Test func heldLocks() throws {
            try run(
                """
                agent
                hold() {
                    latchkey hold --for 10m --vault work sleep 600 2> said & held=$!
                    children+=($held)
                    tries holds
                }
                holds() { latchkey status work | grep "held by sleep\\|holds .*sleep"; }
                for member in PrepareForSleep PrepareForShutdown; do
                    hold
                    signal /session/c1 Session Lock '' '[]'; tries is locking
                    latchkey status work | grep 'state .* locking, held by sleep (process '
                    test "$(cat work/file)" = contents
                    signal '' Manager $member b '[<true>]'; tries released; is locked
                    refused cat work/file
                    tries grep 'locked at once; sleep goes on' said
                    kill $held
                    signal '' Manager $member b '[<false>]'; tries inhibited; unlock
                done
                """, user: 61_273)
        }

        /// After the grace a lock that a program holds is not taken back, and the agent says why.
        @Test func heldAfterTheGrace() throws {
            try run(
                """
                latchkey unmount work
                sed -i 's/^grace.*/grace = 0/' .config/latchkey/config.toml
                latchkey open work --passcode-file passcode
                agent
                latchkey hold --for 10m --vault work sleep 600 2> said & children+=($!)
                tries sh -c '"$LATCHKEY" status work | grep "holds .*sleep (process "'
                hint IdleHint true; tries is locking
                hint IdleHint false
                tries sh -c '"$LATCHKEY" agent --status | grep "grace period is over: it is locked when sleep ends"'
                is locking
                latchkey lock --now --wait work; is locked
                """, user: 61_274)
        }

        /// Where the configuration asks for it, sleep closes class C as well, also of a mount that is locked already.
        @Test func deepAtSleep() throws {
            try run(
                """
                echo later > work/later
                latchkey class set complete-until-first-user-authentication work/later
                printf '[agent]\\ndeep-at-sleep = true\\n' >> .config/latchkey/config.toml
                latchkey config check | grep -q 'sleep closes class C as well'
                agent
                for state in unlocked locked; do
                    tries inhibited
                    test $state = unlocked || latchkey lock --now --wait work
                    test "$(cat work/later)" = later
                    signal '' Manager PrepareForSleep b '[<true>]'; tries released; is before-first-unlock
                    refused cat work/later
                    latchkey agent --status | grep -q 'sleep .* 1 locked$'
                    signal '' Manager PrepareForSleep b '[<false>]'; tries inhibited; unlock
                    test "$(cat work/later)" = later
                done
                """, user: 61_258)
        }

        /// A program that waits for the unlock would keep the machine awake: its call ends before the sleep, and waits
        /// again after it.
        @Test func waitingProgramsAreAnsweredBeforeSleep() throws {
            try run(
                """
                latchkey close work
                printf 'when-locked = "freeze"\\n' >> .config/latchkey/config.toml
                latchkey open work --passcode-file passcode
                waiting() {
                    test "$(latchkey status --json work | sed -n 's/.*"waitingRequests" *: *\\([0-9]*\\).*/\\1/p')" = "$1"
                }
                cat > reader.pl << 'EOF'
                my $interrupted = 0;
                until (sysopen(FILE, "work/file", 0)) { die "$!" if $! != 4; $interrupted = 1 }
                sysread(FILE, my $text, 100);
                print $interrupted ? "interrupted " : "waited ", $text;
                EOF
                reader() { perl reader.pl > said & reader=$!; children+=($reader); }
                agent
                tries inhibited
                for state in locked unlocked; do
                    if test $state = locked; then latchkey lock --now --wait work; fi
                    if test $state = locked; then reader; tries waiting 1; fi
                    signal '' Manager PrepareForSleep b '[<true>]'; tries released; is locked
                    if test $state = unlocked; then reader; fi
                    waiting 0
                    signal '' Manager PrepareForSleep b '[<false>]'; tries inhibited
                    tries waiting 1
                    unlock
                    wait $reader
                    test "$(cat said)" = "interrupted contents"
                done
                """, user: 61_259)
        }

        /// The state that an agent finds counts, and what one session has begun, another one does not end.
        @Test func whatItFinds() throws {
            try run(
                """
                hint LockedHint true
                agent
                tries is locking; tries heard session-lock
                hint LockedHint false; tries is unlocked
                call "$system_bus" $login /org/freedesktop/login1 org.freedesktop.DBus.Mock.AddSession c2 seat0 "$(id -u)" \\
                    someone true
                signal '' Manager SessionNew so "[<'c2'>, <objectpath '/org/freedesktop/login1/session/c2'>]"
                signal /session/c1 Session Lock '' '[]'; tries is locking
                signal /session/c2 Session Unlock '' '[]'
                busctl --address="$session_bus" emit / org.gnome.ScreenSaver ActiveChanged b true; tries heard screensaver
                busctl --address="$session_bus" emit / org.mate.ScreenSaver ActiveChanged b false
                signal /session/c1 Session Unlock '' '[]'
                # Heard after all of them.
                hint IdleHint true; tries heard idle; hint IdleHint false; is locking
                busctl --address="$session_bus" emit / org.gnome.ScreenSaver ActiveChanged b false; tries is unlocked
                # A shutdown that is cancelled: the next one is delayed as well.
                signal '' Manager PrepareForShutdown b '[<true>]'; tries released; is locked
                signal '' Manager PrepareForShutdown b '[<false>]'; tries inhibited
                """, user: 61_262)
        }

        /// A source that is off does nothing: a later event is carried out, and this one was not.
        @Test func switchedOff() throws {
            try run(
                """
                echo '[agent]
                off = ["session-lock", "sleep"]' >> .config/latchkey/config.toml
                latchkey config check
                agent
                signal /session/c1 Session Lock '' '[]'
                signal '' Manager PrepareForSleep b '[<true>]'; tries released
                signal '' Manager PrepareForSleep b '[<false>]'; tries inhibited
                is unlocked
                hint IdleHint true; tries is locking; hint IdleHint false; tries is unlocked
                latchkey agent --status | grep -q 'session-lock *never *switched off'
                latchkey agent --status | grep -q 'sleep *never *switched off'
                # Only for one vault.
                sed -i '/^off/d; s/^grace.*/&\\nlock-on = ["sleep"]/' .config/latchkey/config.toml
                latchkey config check | grep -q 'only because of sleep'
                hint IdleHint true; tries heard idle; is unlocked
                signal '' Manager PrepareForSleep b '[<true>]'; tries released; is locked
                # A configuration that is wrong switches nothing off.
                signal '' Manager PrepareForSleep b '[<false>]'; tries inhibited; unlock
                cp .config/latchkey/config.toml kept; echo 'wrong' >> .config/latchkey/config.toml
                signal '' Manager PrepareForSleep b '[<true>]'; tries released
                cp kept .config/latchkey/config.toml; is locked
                """, user: 61_252)
        }

        /// What goes away comes back: logind, the bus, the agent.
        @Test func whatEndsAndComesBack() throws {
            try run(
                """
                lock_and_take_back() {
                    hint LockedHint true; tries is locking; hint LockedHint false; tries is unlocked
                }
                agent; lock_and_take_back
                refused latchkey agent; grep -q 'runs already' errors
                kill -9 $logind; wait $logind || true
                logind; tries inhibited; lock_and_take_back
                kill -9 $system; wait $system || true
                says() { latchkey agent --status | grep -q "$1"; }
                tries says 'no system bus'
                bus system; logind; tries listens; tries inhibited; lock_and_take_back
                kill -9 $session; wait $session || true
                bus session
                screen() { busctl --address="$session_bus" emit / org.gnome.ScreenSaver ActiveChanged b "$1"; }
                screened() { screen true; is locking; }
                tries screened; screen false; tries is unlocked
                # A killed agent, in the middle of a grace: the lock goes on, and a new agent takes none back.
                hint LockedHint true; tries is locking
                kill -9 $agent; wait $agent || true
                latchkey status | grep -q 'agent: none runs'
                agent; is locking; hint LockedHint false
                signal '' Manager PrepareForSleep b '[<true>]'; tries released; is locked
                """, user: 61_253)
        }

        /// A grace that another client has begun is not taken back by it alone, as long as the agent wants the lock;
        /// and a deep lock that a sleep finishes is a lock.
        @Test func otherClientsLocks() throws {
            try run(
                """
                agent
                cat > client.py << 'EOF'
                import glob, json, os, socket, sys
                one = socket.socket(socket.AF_UNIX)
                one.connect(glob.glob(f"/tmp/latchkey-{os.getuid()}*/*.socket")[0])
                def call(method, **parameters):
                    one.sendall(json.dumps({"method": "io.latchkey." + method, "parameters": parameters}).encode() + b"\\0")
                    answer = b""
                    while not answer.endswith(b"\\0"): answer += one.recv(65536)
                    return json.loads(answer[:-1])["parameters"]["status"]["state"]
                print(call("Lock"), flush=True)
                sys.stdin.readline()
                print(call("TakeBackLock"), flush=True)
                EOF
                mkfifo go
                python3 client.py < go > said & client=$!
                children+=($client)
                exec 5> go
                tries grep -q locking said
                hint LockedHint true; tries heard session-lock
                echo >&5; wait $client
                test "$(cat said)" = "$(printf 'locking\\nlocking')"
                is locking
                # The agent takes back none that it has not begun.
                hint LockedHint false; hint IdleHint true; tries heard idle; is locking
                unlock
                latchkey lock --deep work; is locking
                tries inhibited
                signal '' Manager PrepareForSleep b '[<true>]'; tries released
                latchkey agent --status | grep -q 'sleep .* 1 locked$'
                is before-first-unlock
                """, user: 61_256)
        }

        /// A screen locker that tells no other program: xss-lock, with the line that docs/DESKTOP.md has for it, and
        /// without an agent. A program that only ends takes the place of i3lock.
        @Test func xssLock() throws {
            try run(
                """
                mkdir bin
                printf '#!/bin/sh\\n' > bin/i3lock
                chmod 755 bin/i3lock
                ln -s "$LATCHKEY" bin/latchkey
                export PATH="$PWD/bin:$PATH"
                mkfifo display
                exec 4<> display
                Xvfb -displayfd 4 -nolisten tcp -screen 0 640x480x24 2> Xvfb.log & children+=($!)
                read -r -t 30 number <&4
                export DISPLAY=:$number
                # It ends with a failed assertion if logind does not tell it of its session, or too late.
                locker() {
                    XDG_SESSION_ID=c1 xss-lock -- sh -c 'latchkey lock --all; exec i3lock -n' >> agent.log 2>&1 &
                    locker=$!
                    children+=($locker)
                }
                locker
                # A screen that is saved already is not saved again.
                activated() {
                    kill -0 $locker || locker
                    timeout 5 xset s reset; timeout 5 xset s activate; is locking
                }
                tries activated
                """, user: 61_260)
        }

        /// A folder in the configuration whose disk does not answer, and a log that nothing reads.
        @Test func whatHangsDelaysNoLock() throws {
            try run(
                """
                make --name other
                latchkey open other --passcode-file passcode
                daemon=$(latchkey status --json other | sed -n 's/.*"pid" : \\([0-9]*\\).*/\\1/p')
                printf '[vaults.far]\\nfolder = "~/other/none/far"\\nlock-on = ["sleep"]\\n' >> .config/latchkey/config.toml
                mkfifo log; cat log > agent.log & reader=$!
                "$LATCHKEY" agent 2> log & agent=$!; children+=($agent); tries listens
                kill $reader; wait $reader || true
                kill -STOP $daemon
                trap 'kill -CONT $daemon; stop' EXIT
                hint LockedHint true; tries is locking
                kill -CONT $daemon
                hint LockedHint false; tries is unlocked
                kill -0 $agent
                """, user: 61_257)
        }

        /// A daemon that does not answer keeps the machine from sleeping for a few seconds at most. The log, the report
        /// and, after the waking, a notification name its mount.
        @Test func aMountThatIsNotLockedBeforeSleep() throws {
            try run(
                """
                mock notification_daemon "$session_bus" org.freedesktop.Notifications
                daemon=$(latchkey status --json work | sed -n 's/.*"pid" : \\([0-9]*\\).*/\\1/p')
                agent
                tries inhibited
                kill -STOP $daemon
                trap 'kill -CONT $daemon; stop' EXIT
                signal '' Manager PrepareForSleep b '[<true>]'; tries released
                grep -q "sleep: $PWD/work: its daemon does not answer" agent.log
                latchkey agent --status | grep -q "sleep .*work: its daemon does not answer"
                ! grep 'Not locked' notification_daemon.log
                signal '' Manager PrepareForSleep b '[<false>]'; tries inhibited
                says() { grep -q "$1" notification_daemon.log; }
                tries says 'Notify "Latchkey".*"Not locked before sleep".*work: its daemon does not answer'
                kill -CONT $daemon
                signal '' Manager PrepareForSleep b '[<true>]'; tries released; is locked
                """, user: 61_261)
        }

        /// Only logind's own signals count.
        @Test func whatAnotherConnectionSends() throws {
            try run(
                """
                agent
                forge() { busctl --address="$system_bus" emit "/org/freedesktop/$1" "${@:2}"; }
                forge login1/session/c1 $login.Session Lock
                forge login1 $login.Manager PrepareForSleep b true
                forge login1/session/c1 org.freedesktop.DBus.Properties PropertiesChanged 'sa{sv}as' \\
                    $login.Session 1 LockedHint b true 0
                forge UPower org.freedesktop.DBus.Properties PropertiesChanged 'sa{sv}as' \\
                    org.freedesktop.UPower 1 LidIsClosed b true 0
                # To the agent's connection alone, which no match rule keeps away.
                name=$(busctl --address="$system_bus" list --no-legend | awk -v pid=$agent '$2 == pid { print $1 }')
                test -n "$name"
                forge_to() { busctl --address="$system_bus" --destination="$name" emit "/org/freedesktop/$1" "${@:2}"; }
                forge_to login1/session/c1 $login.Session Lock
                forge_to login1 $login.Manager PrepareForSleep b true
                forge_to login1 $login.Manager PrepareForShutdown b true
                forge_to UPower org.freedesktop.DBus.Properties PropertiesChanged 'sa{sv}as' \\
                    org.freedesktop.UPower 1 LidIsClosed b true 0
                # Heard after all of them.
                hint IdleHint true; tries is locking
                for source in session-lock sleep lid; do
                    latchkey agent --status | grep -q "$source *never"
                done
                """, user: 61_254)
        }

        /// A person is told, and can lock at once.
        @Test func notifications() throws {
            try run(
                """
                mock notification_daemon "$session_bus" org.freedesktop.Notifications
                agent
                exec 3< work/file
                hint LockedHint true; tries is locking
                says() { grep -q "$1" notification_daemon.log; }
                tries says 'Notify "Latchkey".*"Locking in 600 seconds"'
                says "$PWD/work.*bash): 1 file open" && ! says 'bash: file' && ! says 'Path(' && ! says 'Name('
                call "$session_bus" org.freedesktop.Notifications /org/freedesktop/Notifications \\
                    org.freedesktop.DBus.Mock.EmitSignal org.freedesktop.Notifications ActionInvoked us "[<uint32 1>, <'lock-now'>]"
                tries is locked
                unlock
                hint LockedHint false
                printf '[agent]\\nname-files = true\\n' >> .config/latchkey/config.toml
                hint IdleHint true; tries is locking
                tries says 'bash: file'
                hint IdleHint false; tries is unlocked
                latchkey hold --for 10m --vault work sleep 600 & children+=($!)
                tries sh -c '"$LATCHKEY" status work | grep "holds .*sleep (process "'
                hint IdleHint true; tries is locking
                tries says '"Locking in at most 1200 seconds" .*/work, held by sleep'
                hint IdleHint false; tries is unlocked
                kill ${children[-1]}
                sed -i 's/^name-files.*/notifications = false/' .config/latchkey/config.toml
                before=$(grep -c Notify notification_daemon.log)
                hint IdleHint true; tries is locking
                test "$(grep -c Notify notification_daemon.log)" = "$before"
                """, user: 61_255)
        }
    }
}

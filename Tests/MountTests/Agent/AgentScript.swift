/// A script of an ordinary user with an agent, a mounted vault, and buses of his own.
///
/// logind and UPower are python3-dbusmock's, since no real ones run here: the tests of a booted system have those.
enum AgentScript {
    static var missing: String? { OrdinaryUserScript.missing }

    /// Runs the script; see `preamble` for what it has.
    static func run(_ script: String, user: UInt32) throws {
        try OrdinaryUserScript.run(preamble + script, user: user)
    }

    private static let preamble = #"""
        { set +x; } 2> /dev/null
        children=()
        stop() { for child in "${children[@]}"; do kill -9 "$child" 2> /dev/null || true; done; end; }
        trap stop EXIT
        # tries COMMAND...: until it succeeds, for up to 30 seconds.
        tries() {
            local - count=0
            { set +x; } 2> /dev/null
            until "$@" > /dev/null 2>&1; do
                count=$((count + 1))
                if test $count = 600; then echo "never: $*" >&2; "$@" >&2; cat agent.log >&2; return 1; fi
                sleep 0.05
            done
        }
        # bus NAME: a message bus at $HOME/NAME, whose process is in the variable NAME.
        bus() {
            cat > "$1.conf" << EOF
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
          "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig><type>session</type><listen>unix:path=$HOME/$1</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
        <allow own="*"/></policy></busconfig>
        EOF
            rm -f "$1"
            dbus-daemon --config-file="$1.conf" --nofork 2> "$1.log" & printf -v "$1" %s $!
            children+=($!)
            tries test -S "$1"
        }
        system_bus="unix:path=$HOME/system" session_bus="unix:path=$HOME/session"
        export DBUS_SYSTEM_BUS_ADDRESS=$system_bus DBUS_SESSION_BUS_ADDRESS=$session_bus
        # mock TEMPLATE ADDRESS NAME: a mock of a service, whose process is in the variable of the template's name.
        mock() {
            local kind=--system
            test "$2" = "$system_bus" || kind=--session
            PYTHONNOUSERSITE=1 /usr/bin/python3 -m dbusmock $kind --template "$1" > "$1.log" 2>&1 &
            printf -v "$1" %s $!
            children+=($!)
            tries gdbus call --address "$2" --dest "$3" --object-path / --method org.freedesktop.DBus.Peer.Ping
        }
        login=org.freedesktop.login1
        # call ADDRESS NAME PATH METHOD ARGUMENT...
        call() { gdbus call --address "$1" --dest "$2" --object-path "$3" --method "$4" "${@:5}" > /dev/null; }
        # signal PATH INTERFACE MEMBER SIGNATURE BODY: logind sends it.
        signal() { call "$system_bus" $login "/org/freedesktop/login1$1" org.freedesktop.DBus.Mock.EmitSignal \
            "$login.$2" "$3" "$4" "$5"; }
        # hint NAME VALUE: a property of the session changes.
        hint() { call "$system_bus" $login /org/freedesktop/login1/session/c1 \
            org.freedesktop.DBus.Mock.UpdateProperties $login.Session "{'$1': <$2>}"; }
        lid() { call "$system_bus" org.freedesktop.UPower /org/freedesktop/UPower \
            org.freedesktop.DBus.Mock.UpdateProperties org.freedesktop.UPower "{'LidIsClosed': <$1>}"; }
        logind() {
            mock logind "$system_bus" $login
            call "$system_bus" $login /org/freedesktop/login1 org.freedesktop.DBus.Mock.AddSession c1 seat0 "$(id -u)" \
                someone true
        }
        inhibitors() { gdbus call --address "$system_bus" --dest $login --object-path /org/freedesktop/login1 \
            --method $login.Manager.ListInhibitors; }
        # inhibited: one delay for sleep and shutdown together is another right, which only a session on a screen has.
        inhibited() { inhibitors | grep "'sleep', 'Latchkey'" | grep -q "'shutdown', 'Latchkey'"; }
        released() { ! inhibitors | grep -q Latchkey; }
        agent() { "$LATCHKEY" agent > agent.log 2>&1 & agent=$!; children+=($agent); tries listens; tries inhibited; }
        # listens: whether the agent hears logind.
        listens() { latchkey agent --status > report && ! grep 'logind does not answer\|no .* bus' report; }
        is() { test "$(latchkey status --json work | sed -n 's/.*"state" *: *"\([a-z-]*\)".*/\1/p')" = "$1"; }
        unlock() { latchkey unlock --passcode-file passcode work; is unlocked; }
        heard() { latchkey agent --status | grep "^  $1 " | grep -v never; }
        bus system; bus session; logind
        mkdir -p .config/latchkey
        make --name work --default-class complete
        printf 'grace = 600\n' >> .config/latchkey/config.toml
        latchkey open work --passcode-file passcode
        echo contents > work/file
        set -E
        trap 'echo "failed: $BASH_COMMAND" >&2; latchkey agent --status >&2' ERR

        """#
}

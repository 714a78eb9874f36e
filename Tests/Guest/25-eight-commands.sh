# shellcheck shell=bash
# user: bob
# From the package to a vault that is mounted at each login: the installation and seven commands, which README has. The
# passcode comes from a pipe here, where a person types it.
set -euxo pipefail

readme=/usr/share/doc/latchkey/README.md
# said COMMAND: fails unless README has it.
said() { grep -qF -- "$1" "$readme"; }

cd
if [ "$1" = 1 ]; then
    said "apt install ./.build/packages/latchkey_"
    said "latchkey init --name private --default-class complete"
    echo "correct horse battery staple" | latchkey init --name private --default-class complete
    said "latchkey open private"
    echo "correct horse battery staple" | latchkey open private
    said 'echo "for my eyes only" > ~/private/note'
    echo "for my eyes only" > ~/private/note
    said "systemctl --user enable latchkey@private"
    systemctl --user enable latchkey@private
    exit 194
fi

# After the reboot: this login has started the user's units.
for _ in {1..300}; do mountpoint -q private && break; sleep 0.1; done
systemctl --user is-active latchkey@private
if cat private/note; then exit 1; fi
said "latchkey unlock private"
echo "correct horse battery staple" | latchkey unlock private
said "cat ~/private/note"
[ "$(cat ~/private/note)" = "for my eyes only" ]
said "latchkey lock --wait private"
latchkey lock --wait private
if cat private/note; then exit 1; fi
systemctl --user stop latchkey@private
if mountpoint -q private; then exit 1; fi

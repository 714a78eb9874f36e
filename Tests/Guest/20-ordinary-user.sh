# shellcheck shell=bash
# user: ann
# An ordinary user at home, as README says it: a vault, a mount, a file, a lock, an unlock.
set -euxo pipefail

cd
umask 077
echo "correct horse battery staple" >passcode
latchkey init --default-class complete --passcode-file passcode --recovery-key-file recovery vault
mkdir private
latchkey mount --unlock --passcode-file passcode vault private
echo "for my eyes only" >private/note
latchkey lock --wait --now private 2>/dev/null
if cat private/note 2>error; then exit 1; fi
grep "Required key not available" error
if grep -rF "for my eyes only" vault; then exit 1; fi
latchkey unlock --passcode-file passcode private
[ "$(cat private/note)" = "for my eyes only" ]
latchkey unmount private
[ -z "$(ls private)" ]

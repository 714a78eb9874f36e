import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Extended attributes and access control lists, as on any other file system.
    @Suite struct Attributes {
        /// `! command` does not end a shell with -e.
        private static let refused = "refused() { if \"$@\" 2>/dev/null; then echo \"not refused: $*\"; exit 1; fi; }"

        @Test func ofAllKinds() throws {
            try withScene { scene in
                try shell(
                    """
                    \(Self.refused)
                    touch file; mkdir folder; ln -s file link; mkfifo pipe
                    long=user.$(printf 'n%.0s' $(seq 1 250)); middle=user.$(printf 'm%.0s' $(seq 1 165))
                    for path in file folder; do
                        setfattr -n user.one -v 1 $path; setfattr -n user.empty $path
                        setfattr -n $long -v long $path; setfattr -n $middle -v middle $path
                        test "$(getfattr --only-values -n $long $path)" = long
                        test "$(getfattr --only-values -n $middle $path)" = middle
                        test "$(getfattr $path | grep -c user)" = 4
                        setfattr -x $long $path; refused getfattr -n $long $path
                        test "$(getfattr $path | grep -c user)" = 3
                        refused setfattr -n system.other -v 1 $path
                        refused python3 -c \
                            'import os, sys; os.setxattr(sys.argv[1], "user.one", b"", os.XATTR_CREATE)' $path
                        refused python3 -c \
                            'import os, sys; os.setxattr(sys.argv[1], "user.two", b"", os.XATTR_REPLACE)' $path
                        setfattr -n user.large -v "$(printf 'v%.0s' $(seq 1 3000))" $path
                        test "$(getfattr --only-values -n user.large $path | wc -c)" = 3000
                    done
                    refused setfattr -n user.latchkey.other -v 1 file
                    refused setfattr -n user.one -v 1 -h link
                    refused setfattr -n user.one -v 1 pipe
                    """, in: scene.mount.path
                ).succeeded()
                let vault = scene.mount.vault.path
                let backing = try shell("getfattr -d -m - -R \(vault) 2>/dev/null | grep -c user.one || :")
                #expect(backing.text == "0\n", "names are encrypted")
            }
        }

        @Test(.enabled(if: geteuid() == 0, "needs root")) func ofRoot() throws {
            try withScene { scene in
                try shell(
                    """
                    \(Self.refused)
                    cp /bin/true program; setfattr -n trusted.one -v 1 program; setfattr -n security.other -v 2 program
                    test "$(getfattr --only-values -n trusted.one program)" = 1
                    test "$(getfattr --only-values -n security.other program)" = 2
                    getfattr -m - program 2>/dev/null | grep -q trusted.one
                    PATH=$PATH:/sbin:/usr/sbin
                    for change in 'printf x >> program' 'truncate -s 100 program' ': > program' 'chown 1:1 program' \\
                        'fallocate -l 200000 program' 'printf x 1<>program >&1' \\
                        'dd if=/dev/zero of=program bs=4096 count=1 oflag=direct conv=notrunc status=none'; do
                        setcap cap_net_raw+ep program; getcap program | grep -q cap_net_raw
                        eval "$change"
                        refused getfattr -n security.capability program
                    done
                    """, in: scene.mount.path
                ).succeeded()
            }
        }

        /// setfacl(1) and getfacl(1); files that several users make in a folder with a default list, and their changes.
        @Test func accessControlLists() throws {
            try withScene { scene in
                try shell(
                    """
                    \(Self.refused)
                    umask 022
                    list() { getfacl --omit-header --numeric --no-effective "$1" | tr '\\n' ' '; }
                    touch file; setfacl -m u:1234:rw,g:77:r file
                    test "$(list file)" = 'user::rw- user:1234:rw- group::r-- group:77:r-- mask::rw- other::r--  '
                    test "$(stat -c %a file)" = 664
                    chmod 640 file
                    test "$(list file)" = 'user::rw- user:1234:rw- group::r-- group:77:r-- mask::r-- other::---  '
                    cp -a file copy; test "$(list copy)" = "$(list file)"
                    setfacl -b file; test "$(list file)" = 'user::rw- group::r-- other::---  '
                    refused getfattr -n system.posix_acl_access file
                    mkdir folder; setfacl -d -m u:1234:rwx,g::rx,o::- folder
                    touch folder/file; mkdir folder/inner; mkfifo folder/pipe; ln -s x folder/link
                    test "$(list folder/file)" = 'user::rw- user:1234:rwx group::r-x mask::rw- other::---  '
                    test "$(stat -c %a folder/file)" = 660
                    test "$(getfacl --omit-header --numeric -d folder/inner)" = \
                        "$(getfacl --omit-header --numeric -d folder)"
                    list folder/inner | grep -q '^user::rwx user:1234:rwx group::r-x mask::rwx other::---'
                    # Only root's can have a list: else the group gets what its own entry grants.
                    test "$(stat -c %a folder/pipe)" = "$(test "$(id -u)" = 0 && echo 660 || echo 640)"
                    setfacl -k folder; mkdir folder/other; test "$(stat -c %a folder/other)" = 755
                    refused setfacl -d -m u:1234:rwx file
                    umask 077; touch plain; mkdir plain.d
                    test "$(stat -c %a plain plain.d | tr '\\n' ' ')" = '600 700 '
                    """, in: scene.mount.path
                ).succeeded()
            }
        }

        /// The kernel checks the list; a user whom it does not name has the rights of others.
        @Test(.enabled(if: geteuid() == 0, "needs root")) func areEnforced() throws {
            try withScene(options: ["-o", "allow_other"]) { scene in
                try shell(
                    """
                    \(Self.refused)
                    as() { user=$1; shift; setpriv --reuid=$user --regid=$user --clear-groups -- "$@"; }
                    chmod 755 .; mkdir folder; chmod 700 folder; echo text > folder/file; chmod 600 folder/file
                    refused as 1234 cat folder/file
                    setfacl -m u:1234:x folder; setfacl -m u:1234:r folder/file
                    test "$(as 1234 cat folder/file)" = text
                    refused as 1235 cat folder/file
                    refused as 1234 sh -c 'echo more >> folder/file'
                    chmod 600 folder/file; refused as 1234 cat folder/file
                    chmod 640 folder/file; as 1234 cat folder/file
                    setfacl -x u:1234 folder/file; refused as 1234 cat folder/file
                    mkdir -m 777 shared; setfacl -d -m u:1235:rw,o::- shared
                    as 1234 sh -c 'umask 077; echo text > shared/file'
                    test "$(as 1235 cat shared/file)" = text
                    refused as 1236 cat shared/file
                    touch group; chown 1235:1235 group; chmod 2755 group
                    as 1235 setfacl -m u:1237:r group; test -g group
                    chgrp 99 group; chmod 2755 group; as 1235 setfacl -m u:1238:r group; refused test -g group
                    """, in: scene.mount.path
                ).succeeded()
            }
        }
    }
}

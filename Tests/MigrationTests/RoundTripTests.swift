import Foundation
import Posix
import TestSupport
import Testing

@testable import Migration

extension MigrationTests {
    /// All that a folder may hold is the same in the vault, and again outside of it.
    @Suite struct RoundTrips {
        static let everything = """
            mkdir -p a/b/c empty 'with space' deep/1/2/3/4/5
            seq 20000 > a/numbers; head -c 3000000 /dev/urandom > a/b/random; : > a/b/empty; printf x > one
            printf 'odd' > $'a/new\\nline'; printf 'odd' > $'a/\\xff\\xfe'; printf 'odd' > 'a/back\\slash'
            ln a/numbers hard1; ln a/numbers a/b/hard2; ln -s a/numbers soft; ln -s /nowhere/at/all dangling
            ln -s ../../outside a/b/out; ln -s "$(printf 'x%.0s' {1..3900})" long
            mkfifo fifo; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('sock')"
            truncate -s 50M sparse; printf data | dd of=sparse bs=1 seek=20000000 conv=notrunc status=none
            truncate -s 7M hole
            setfacl -m u:1000:rw a/numbers; setfacl -m u:1000:rwx,d:g:2000:rx,d:u:1001:- a/b/c
            setfattr -n user.note -v "$(printf 'y%.0s' {1..300})" one; setfattr -n user.empty one; setfattr -n user.f a
            chmod 4755 one; chmod 000 a/b/empty; chmod 1777 empty; chmod 2750 a/b; chmod 500 deep/1
            touch -d '1999-12-31 23:59:59.123456789' one a/numbers; touch -d '2038-01-20 01:02:03.5' a/b/random
            touch -h -d '2001-01-01 00:00:00.25' soft; touch -d '1970-01-01 00:00:01.000000001' fifo
            for n in $(seq 30); do mkdir many$n; for m in $(seq 25); do echo $n $m > many$n/$m; done; done
            if [ $(id -u) = 0 ]; then chown 1234:4321 one; chown -h 77:88 soft; mknod null c 1 3
            setfattr -n trusted.t -v 1 a/numbers; setfattr -h -n trusted.l -v 2 soft; setcap cap_net_raw+ep a/b/random; fi
            touch -d '2010-10-10 10:10:10.101010101' -a a a/b empty deep .; touch -d '2011-11-11 11:11:11.2' -m a/b/c a/b a empty deep/1 deep .
            """

        /// A listing of the vault moves the times of access of its folders: so it is not looked at on the way.
        @Test func keepEverything() throws {
            let folder = try MigratedFolder(Self.everything)
            let before = try folder.snapshotOfFolder()
            #expect(before.entries.count > 800)
            #expect(try folder.migrate(.protect).isComplete)
            #expect(try folder.migrate(.unprotect).isComplete)
            #expect(folder.events.isEmpty)
            #expect(try folder.snapshotOfFolder().differences(from: before).prefix(5) == [])
            #expect(try folder.snapshotOfVault().entries.count == 1)
        }

        @Test func theVaultShowsTheSame() throws {
            let folder = try MigratedFolder(Self.everything)
            let before = try folder.snapshotOfFolder()
            let there = try folder.migrate(.protect)
            #expect(there.isComplete)
            #expect(folder.events.isEmpty)
            #expect(there.manifests.before == there.manifests.after)
            #expect(try folder.store.entries(of: folder.plainTree().root).isEmpty)
            let inVault = try folder.snapshotOfVault()
            #expect(inVault.differences(from: before).prefix(5) == [])
        }
    }
}

import TestSupport
import Testing

extension MountTests {
    /// Whole trees in and out: every byte, mode, time, owner, link and attribute.
    @Suite struct Trees {
        /// A tree with everything that a file system can hold, on the plain disk.
        static func makeTree(in folder: TemporaryFolder) throws -> String {
            try shell(
                """
                mkdir tree; cd tree; umask 022
                for size in 0 1 15 16 17 4095 4096 4097 8191 8192 8193 100000 1048576 3000001; do
                    head -c $size /dev/urandom > size-$size
                done
                mkdir -p a/b/c/d empty; echo deep > a/b/c/d/file
                ln -s size-1 link; ln -s /nowhere/at/all dangling; ln -s "$(printf 'x%.0s' $(seq 1 1000))" long-link
                ln size-17 hard-1; ln size-17 a/hard-2
                mkfifo fifo; chmod 4755 size-15; chmod 000 size-16; chmod 1777 empty
                touch -d '2001-02-03 04:05:06.789' size-1; touch -h -d '1999-01-01' link
                touch "name with blanks" "$(printf 'new\\nline')" "$(printf '\\377\\376 not utf-8')" -- -dash
                touch "$(printf 'n%.0s' $(seq 1 255))" "$(printf 'm%.0s' $(seq 1 176))" "$(printf 'k%.0s' $(seq 1 175))"
                mkdir "$(printf 'D%.0s' $(seq 1 250))"; echo in > "$(printf 'D%.0s' $(seq 1 250))/file"
                truncate -s 5M sparse; printf end >> sparse
                setfattr -n user.one -v 1 size-1; setfattr -n user.long -v "$(printf 'v%.0s' $(seq 1 1500))" a
                setfacl -m u:1234:rw,g:77:r size-1; setfacl -m u:1234:rwx -d -m g:77:rx a/b
                touch -d '2002-02-02' a/b empty .
                """, in: folder.path
            ).succeeded()
            return folder.path("tree")
        }

        /// It has the access lists as lists: as attributes too they would appear in the order of the file system's
        /// listing.
        private static let archive =
            "tar --sort=name --numeric-owner --format=posix --xattrs --xattrs-exclude='system.*' --acls "
            + "--pax-option=delete=atime,delete=ctime"

        @Test func tarInAndOut() throws {
            let vault = try Vault()
            let tree = try Self.makeTree(in: vault.folder)
            try shell("\(Self.archive) -C \(tree) -cf before.tar .", in: vault.folder.path).succeeded()
            try withMount(vault) { mount in
                try shell("mkdir tree; tar --xattrs --acls -xpf ../before.tar -C tree", in: mount.path).succeeded()
                try shell("tar --xattrs --acls --compare -f ../before.tar -C tree", in: mount.path).succeeded()
            }
            // Byte for byte, from a mount that has not seen the writes.
            try withMount(vault) { mount in
                try shell("\(Self.archive) -C tree -cf ../after.tar .; cmp ../before.tar ../after.tar", in: mount.path)
                    .succeeded()
            }
        }

        @Test func rsyncWithAttributes() throws {
            let vault = try Vault()
            let tree = try Self.makeTree(in: vault.folder)
            try withMount(vault) { mount in
                try shell("rsync -aAXH \(tree)/ tree/", in: mount.path).succeeded()
                let again = try shell("rsync -aAXHni --checksum \(tree)/ tree/", in: mount.path).succeeded()
                #expect(again.text.isEmpty, "a second run finds nothing to do")
            }
            try withMount(vault) { mount in
                try shell("rsync -aAXH tree/ \(vault.folder.path)/back/", in: mount.path).succeeded()
                let again = try shell("rsync -aAXHni --checksum --delete \(tree)/ \(vault.folder.path)/back/")
                #expect(again.text.isEmpty, "what came out is what went in")
            }
        }

        /// rsync -X removes attributes that its source lacks: that must not weaken a file's class, nor fail.
        @Test func rsyncOverAClassedFileDoesNotWeakenIt() throws {
            try withScene { scene in
                try scene.makeFolder("to")
                try scene.makeFile("to/file", class: .complete, [1])
                let plain = scene.mount.vault.folder
                try shell("mkdir from; echo new > from/file; rsync -aX from/ mount/to/", in: plain.path).succeeded()
                #expect(try scene.contents("to/file") == Array("new\n".utf8))
                #expect(try scene.classOf("to/file") == .complete)
                try shell("echo newer > from/file; rsync -aX --inplace from/ mount/to/", in: plain.path).succeeded()
                #expect(try scene.contents("to/file") == Array("newer\n".utf8))
                #expect(try scene.classOf("to/file") == .complete)
            }
        }

        /// The vault is backed up by rsync while locked, and the copy opens.
        @Test func aCopyOfTheVaultOpens() throws {
            let vault = try Vault(["--default-class", "complete"])
            let tree = try Self.makeTree(in: vault.folder)
            try withMount(vault) { mount in
                try shell("cp -a \(tree) tree", in: mount.path).succeeded()
                try mount.lockNow()
                try shell("rsync -aAXH --exclude=lk.lock \(vault.path)/ \(vault.folder.path)/copy/").succeeded()
            }
            try shell("mv vault original; mv copy vault", in: vault.folder.path).succeeded()
            try withMount(vault) { mount in
                try shell("diff -r --no-dereference --exclude=fifo \(tree) tree", in: mount.path).succeeded()
            }
        }
    }
}

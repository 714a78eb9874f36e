import TestSupport
import Testing

extension MountTests {
    @Suite struct GitInTheMount {
        /// A repository on the plain disk: a few hundred files, fifty commits, a branch, a merge, a tag.
        static func makeRepository(in folder: TemporaryFolder) throws -> String {
            let path = folder.path("origin")
            try shell(
                """
                git init -q -b main origin; cd origin
                for i in $(seq 1 200); do mkdir -p d$((i % 10)); seq 1 $((i * 7)) > d$((i % 10))/f$i; done
                printf '\\000\\001\\002' > binary; ln -s binary link; : > empty; chmod +x binary
                git add -A; git commit -q -m first
                for i in $(seq 1 40); do seq $i $((i * 50)) > d$((i % 10))/f$i; git commit -q -a -m "commit $i"; done
                git checkout -q -b side HEAD~20; echo side > side; git add side; git commit -q -m side
                git checkout -q main; git merge -q -m merge side; git tag v1
                """, in: folder.path
            ).succeeded()
            return path
        }

        @Test func cloneCollectAndCheck() throws {
            let vault = try Vault(["--default-class", "complete"])
            let origin = try Self.makeRepository(in: vault.folder)
            try withMount(vault) { mount in
                try shell(
                    """
                    git clone -q --no-local \(origin) clone; cd clone
                    test -z "$(git status --porcelain)"
                    diff -r --no-dereference --exclude=.git . \(origin)
                    echo more >> d1/f1; git add -A; git commit -q -m more
                    git checkout -q -b other HEAD~5; git checkout -q main; git stash list
                    git gc -q --aggressive --prune=now; git fsck --full --strict --no-dangling
                    git log --oneline | wc -l | grep -qx 44
                    test -z "$(git status --porcelain)"
                    """, in: mount.path
                ).succeeded()
            }
            try withMount(vault) { mount in
                try shell(
                    "git fsck --full --strict; git diff --exit-code HEAD~1 --stat > /dev/null || test $? = 1",
                    in: mount.file("clone")
                ).succeeded()
            }
        }

        @Test func whileLockedItIsRefusedAndNothingIsHarmed() throws {
            let vault = try Vault(["--default-class", "complete"])
            let origin = try Self.makeRepository(in: vault.folder)
            try withMount(vault) { mount in
                try shell("git clone -q --no-local \(origin) clone", in: mount.path).succeeded()
                try mount.lockNow()
                for command in ["git log", "git commit -q --allow-empty -m no", "git gc -q", "git checkout -q HEAD~3"] {
                    let outcome = try attemptShell(command, in: mount.file("clone"))
                    #expect(outcome.status != 0, "\(command) while locked")
                }
                try mount.unlock()
                try shell(
                    "git fsck --full --strict; test -z \"$(git status --porcelain)\"; git gc -q",
                    in: mount.file("clone")
                ).succeeded()
            }
        }
    }
}

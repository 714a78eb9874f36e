import TestSupport
import Testing

extension MountTests {
    /// Calls that ext4 supports and a mount does not: a block's number is in its tag, so blocks cannot be moved.
    @Suite struct MovedRanges {
        @Test func areRefusedAndHarmNothing() throws {
            try withScene { scene in
                try shell(
                    """
                    seq 100000 > file; cp file copy
                    for mode in --collapse-range --insert-range; do
                        if fallocate $mode --offset 4096 --length 8192 file 2> ../said; then exit 1; fi
                        grep -qi 'not supported' ../said
                        cmp file copy
                    done
                    # A program that is told so writes zeros itself, or copies.
                    fallocate --zero-range --offset 4096 --length 8192 file
                    test "$(cmp -l file copy | awk '$2 != 0' | wc -l)" = 0
                    test "$(stat -c %s file)" = "$(stat -c %s copy)"
                    """, in: scene.mount.path
                ).succeeded()
            }
        }
    }
}

import TestSupport
import Testing

extension MountTests {
    /// read(2) and a mapping never show bytes older than an acknowledged write, of whatever kind.
    @Suite struct DirectIO {
        @Test func nothingOlderThanAWriteIsRead() throws {
            try withScene { scene in
                let said = try run("python3", ["-c", Self.program, scene.mount.path]).succeeded().text
                #expect(said == "done\n")
            }
        }

        /// Four processes read the file through the page cache in a loop, while it is written in each way.
        private static let program = """
            import ctypes, mmap, os, select, struct, sys
            os.chdir(sys.argv[1])
            SIZE = 640 << 10
            libc = ctypes.CDLL(None, use_errno=True)
            libc.syscall.restype = ctypes.c_long
            libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
            plain = os.open("file", os.O_RDWR | os.O_CREAT)
            direct = os.open("file", os.O_RDWR | os.O_DIRECT)
            source = os.open("source", os.O_RDWR | os.O_CREAT)
            os.pwrite(plain, bytes(SIZE), 0)
            mapped = mmap.mmap(plain, SIZE, mmap.MAP_SHARED, mmap.PROT_READ)
            buffer = mmap.mmap(-1, SIZE)
            address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
            context = ctypes.c_ulong(0)
            assert libc.syscall(206, 16, ctypes.byref(context)) == 0

            def asynchronous(byte):
                buffer[:] = bytes([byte]) * SIZE
                pieces = []
                for at in range(0, SIZE, SIZE // 5):
                    pieces.append(ctypes.create_string_buffer(struct.pack(
                        "QIIHhIQQqQII", 0, 0, 0, 1, 0, direct, address + at, SIZE // 5, at, 0, 0, 0), 64))
                list = (ctypes.c_void_p * 5)(*[ctypes.addressof(piece) for piece in pieces])
                assert libc.syscall(209, context, ctypes.c_long(5), list) == 5
                events = ctypes.create_string_buffer(32 * 5)
                assert libc.syscall(208, context, ctypes.c_long(5), ctypes.c_long(5), events, None) == 5
                for at in range(5): assert struct.unpack_from("QQqq", events, 32 * at)[2] == SIZE // 5

            def synchronous(byte):
                buffer[:] = bytes([byte]) * SIZE
                assert os.pwritev(direct, [buffer], 0) == SIZE

            def copied(byte):
                os.pwrite(source, bytes([byte]) * SIZE, 0)
                done = 0
                while done < SIZE: done += os.copy_file_range(source, plain, SIZE - done, done, done)

            def buffered(byte): os.pwrite(plain, bytes([byte]) * SIZE, 0)

            def punched(_): assert libc.fallocate(plain, 3, 0, SIZE) == 0
            def zeroed(_): assert libc.fallocate(plain, 16, 0, SIZE) == 0

            def truncated(_):
                os.truncate("file", 0)
                os.truncate("file", SIZE)

            end, other = os.pipe()

            def read():
                os.close(other)
                # It may be truncated meanwhile.
                while not select.select([end], [], [], 0)[0]:
                    file = os.open("file", os.O_RDONLY)
                    for at in range(0, SIZE, 128 << 10): os.pread(file, 128 << 10, at)
                    os.close(file)

            readers = []
            for _ in range(4):
                process = os.fork()
                if process == 0:
                    status = 1
                    try:
                        read()
                        status = 0
                    finally: os._exit(status)
                readers.append(process)

            def check(what, byte):
                expected = bytes([byte]) * SIZE
                again = os.open("file", os.O_RDONLY)
                for how, found in ("read", os.pread(plain, SIZE, 0)), ("read anew", os.pread(again, SIZE, 0)), \\
                        ("mapping", mapped[:]):
                    if found != expected: sys.exit(f"{what.__name__}: {how} shows old bytes")
                os.close(again)
                os.preadv(direct, [buffer], 0)
                if buffer[:] != expected: sys.exit(f"{what.__name__}: a direct read shows old bytes")

            try:
                for turn in range(30):
                    for index, change in enumerate([asynchronous, synchronous, copied, asynchronous, buffered]):
                        byte = 1 + (turn * 5 + index) % 255
                        change(byte)
                        check(change, byte)
                    if turn % 4 == 0:
                        for change in punched, zeroed, truncated:
                            change(0)
                            check(change, 0)
                            synchronous(7)
                            check(synchronous, 7)
            finally:
                os.close(other)
                ends = [os.wait()[1] for _ in readers]
            if any(ends): sys.exit(f"readers ended with {ends}")
            print("done")
            """
    }
}

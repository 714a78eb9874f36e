import Glibc
import Posix
import TestSupport
import Testing

@Suite struct FolderWatchTests {
    private func events(_ watch: FolderWatch) throws -> Set<FolderWatch.Event> {
        _ = try Poll.readable([watch.readable], timeout: .seconds(10))
        return try watch.read().events
    }

    /// Keeps no descriptor: a folder that is open is not gone.
    private func add(_ path: String, to watch: FolderWatch) throws -> FolderWatch.FolderID {
        let opened = try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY)
        try watch.add(opened)
        return try FolderWatch.identify(opened)
    }

    @Test func changesOfOthersAlone() throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("watched")
        let path = folder.path("watched")
        let watch = try FolderWatch()
        let id = try add(path, to: watch)
        // Once more, by another descriptor.
        #expect(try add(path, to: watch) == id)
        // Our own.
        try Disk.write([1], to: path + "/own")
        let own = try watch.read()
        #expect(own.events.isEmpty && own.count > 0)
        // Another process's: in the folder, to its entry, to itself; not below it.
        try run("sh", ["-euc", "cd \"$1\"; echo >> own; mkdir sub; touch sub/deep; chmod 700 .", "sh", path])
            .succeeded()
        #expect(try events(watch) == [.changed(id, "own"), .changed(id, "sub"), .changed(id, nil)])
        #expect(try watch.read().events.isEmpty)
        // Through a mapping, which outlasts its descriptor.
        let mapped = """
            import mmap, os, sys
            f = os.open(sys.argv[1], os.O_RDWR)
            m = mmap.mmap(f, 1)
            os.close(f)
            m[0] = 66
            """
        try run("python3", ["-c", mapped, path + "/own"]).succeeded()
        #expect(try events(watch) == [.changed(id, "own")])
        // Where it was and where it is.
        try run("sh", ["-euc", "cd \"$1\"; mv own ../own; mv ../own back", "sh", path]).succeeded()
        #expect(try events(watch) == [.changed(id, "own"), .changed(id, "back")])
        try run("rm", ["-r", path]).succeeded()
        var last = try events(watch)
        let end = ContinuousClock.now + .seconds(10)
        while !last.contains(.gone(id)), ContinuousClock.now < end { last.formUnion(try events(watch)) }
        #expect(last.contains(.gone(id)))
    }

    @Test func aFullQueue() throws {
        let folder = try TemporaryFolder()
        let watch = try FolderWatch()
        let id = try add(folder.path, to: watch)
        // Unequal events: 16,384 have room, unless the administrator has changed that.
        try run(
            "python3",
            [
                "-c",
                "import os, sys\nfor i in range(17000): os.close(os.open(f'{sys.argv[1]}/{i}', os.O_CREAT | os.O_WRONLY))",
                folder.path,
            ]
        ).succeeded()
        var all: Set<FolderWatch.Event> = []
        while try !Poll.readable([watch.readable], timeout: .zero).isEmpty { all.formUnion(try watch.read().events) }
        #expect(all.contains(.lost) && all.contains(.changed(id, "0")))
    }
}

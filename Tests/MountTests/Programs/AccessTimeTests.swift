import TestSupport
import Testing

extension MountTests {
    /// Access times change when a program reads, as with relatime, and not when the daemon reads headers.
    @Suite struct AccessTimes {
        private static let set = """
            printf contents > file; ln -s target link; mkdir folder
            touch -a -h -d '2001-02-03 04:05:06.7' file link folder; touch -a -d '2031-02-03 04:05:06.7' later
            """
        private static let show = "stat -c '%X %n' file link later"
        private static let asSet = "981173106 file\n981173106 link\n1927857906 later\n"

        @Test(arguments: [[], ["-o", "relatime"], ["-o", "noatime"]]) func moveByReading(options: [String]) throws {
            let vault = try Vault()
            try withMount(vault, options: options) { mount in
                #expect(try shell(Self.set + "\n" + Self.show, in: mount.path).succeeded().text == Self.asSet)
                try shell("find . -printf '%s %m'; printf more >> file; head -c 3 later", in: mount.path).succeeded()
            }
            try withMount(vault, options: options) { mount in
                #expect(try shell(Self.show, in: mount.path).text == Self.asSet, "looking at headers is no access")
                let changed = try shell("stat -c %Z file; sleep 0.02; cat file; stat -c %Z file", in: mount.path).text
                let times = changed.split(whereSeparator: { "\n".contains($0) }).map(String.init)
                #expect(times == [times[0], "contentsmore" + times[0]], "reading is no change")
                let after = try shell("stat -c %X file", in: mount.path).text
                #expect((after != "981173106\n") == !options.contains("noatime"))
            }
        }
    }
}

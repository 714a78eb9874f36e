import TestSupport
import Testing

extension MountTests {
    /// Section 4's table: headers and whole files.
    @Suite struct HeaderAttacks {
        @Test func headersExchanged() throws {
            let scene = try AttackScene()
            let (first, second) = (scene.file("first"), scene.file("second"))
            let headers = (try first.header.bytes, try second.header.bytes)
            try first.edit { $0.replaceSubrange(0..<512, with: headers.1) }
            try second.edit { $0.replaceSubrange(0..<512, with: headers.0) }
            try scene.expectRefused("first", "second")
        }

        @Test func filesExchanged() throws {
            let scene = try AttackScene()
            let (first, second) = (scene.file("first").path, scene.file("second").path)
            try shell("mv '\(first)' x; mv '\(second)' '\(first)'; mv x '\(second)'", in: scene.vault.folder.path)
                .succeeded()
            try scene.expectRefused("first", "second")
        }

        @Test func filesOfTheSameNameInTwoFoldersExchanged() throws {
            let scene = try AttackScene()
            let (one, other) = (scene.file("folder/inner"), scene.file("other/inner"))
            let contents = (try Disk.read(one.path), try Disk.read(other.path))
            try Disk.write(contents.1, to: one.path)
            try Disk.write(contents.0, to: other.path)
            try scene.expectRefused("folder/inner", "other/inner")
        }

        /// Class A's byte changed to D's, and other header fields that an attacker would change.
        @Test(arguments: [
            ("class", 56, UInt8(4)), ("explicit", 57, 0), ("many links", 57, 3), ("moving", 57, 5),
            ("algorithm", 58, 2), ("version", 8, 2), ("incompatible features", 20, 1), ("read-only features", 16, 1),
            ("generation", 64, 99), ("length", 72, 1), ("length", 73, 1), ("sparse block", 80, 0),
            ("provisional length", 88, 1), ("number of places", 59, 0), ("place", 104, 0), ("another place", 120, 1),
            ("second class", 62, 4), ("second mark", 63, 1), ("wrap length", 60, 72), ("second wrap length", 98, 40),
            ("zero", 97, 1), ("nanoseconds", 100, 1), ("time", 344, 1), ("stamp", 352, 1),
            ("time of change", 312, 1), ("time of writing", 328, 1), ("wrap", 361, 0),
            ("end of wrap", 479, 1), ("MAC", 511, 0), ("magic", 0, 0), ("volume", 24, 0), ("file", 40, 0),
        ])
        func aChangedField(_ field: String, _ offset: Int, _ value: UInt8) throws {
            let scene = try AttackScene()
            try scene.file("strict").edit { $0[offset] = $0[offset] == value ? value ^ 0x80 : value }
            try scene.expectRefused("strict")
        }

        /// As `headersExchanged`, by an attacker who restores the backing file's times: then its summary still counts.
        @Test func aHeaderExchangedBelowItsSummary() throws {
            let scene = try AttackScene()
            let (first, second) = (scene.file("first"), scene.file("second"))
            let header = try second.header.bytes
            try shell("touch -r '\(first.path)' time", in: scene.vault.folder.path).succeeded()
            try first.edit { $0.replaceSubrange(0..<512, with: header) }
            try shell("touch -r time '\(first.path)'", in: scene.vault.folder.path).succeeded()
            try scene.expectRefused("first")
        }

        /// An old summary, put back beside the present contents: a machine that has seen the newer header does not
        /// believe it. On another one stat(2) does, but no reader of the contents.
        @Test func anOlderSummaryIsPutBack() throws {
            let vault = try Vault()
            let backing = BackingFile(
                try withMount(vault) { mount in
                    let scene = Scene(mount: mount, probe: try Probe())
                    try scene.makeFile("file", Array(AttackScene.first[..<5000]))
                    scene.endProbe()
                    return try mount.backingPath("file")
                })
            let kept = "kept"
            try shell(
                "getfattr --absolute-names -d -m '^user.lk$' '\(backing.path)' > \(kept) "
                    + "&& touch -r '\(backing.path)' time",
                in: vault.folder.path
            ).succeeded()
            let size = try Disk.read(backing.path).count
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                try scene.makeFile("file", AttackScene.first)
                scene.endProbe()
            }
            try backing.truncate(to: size)
            try shell(
                "setfattr --restore=\(kept) && touch -r time '\(backing.path)'", in: vault.folder.path
            ).succeeded()
            let shown = try withMount(vault) { mount in try shell("stat -c %s '\(mount.path)/file'").text }
            #expect(shown == "20000\n", "the header's")
            try withMount(vault, options: ["--freshness", "off"]) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                #expect(try shell("stat -c %s '\(mount.path)/file'").text == "5000\n", "the attack has its moment")
                let logged = scene.mount.messages.count
                #expect(try scene.probe.read(scene.path("file")) == .refused("EIO"))
                #expect(scene.mount.logs(past: logged))
                #expect(try shell("stat -c %s '\(mount.path)/file'").text == "20000\n", "the header's, from now on")
                scene.endProbe()
            }
        }

        /// A file that is moved or copied to another name is not found under it.
        @Test(arguments: ["mv", "cp"])
        func movedToAnotherName(_ command: String) throws {
            let scene = try AttackScene()
            let (first, single) = (scene.file("first").path, scene.file("single").path)
            try shell("\(command) '\(first)' '\(single)'").succeeded()
            try scene.afterwards(except: ["first", "single"]) { scene throws in
                #expect(try scene.probe.read(scene.path("single")) == .refused("EIO"))
                let expected: Answer =
                    command == "mv" ? .refused("ENOENT") : .ok(AttackScene.first.hexadecimal)
                #expect(try scene.probe.read(scene.path("first")) == expected)
            }
        }

        @Test(arguments: ["mv", "cp"])
        func movedToAnotherFolder(_ command: String) throws {
            let scene = try AttackScene()
            // The name is encrypted under the folder's ID: under its own name the file is foreign there.
            try shell("\(command) '\(scene.file("first").path)' '\(scene.file("folder").path)/'").succeeded()
            try scene.afterwards(except: command == "mv" ? ["first"] : []) { scene in
                #expect(try scene.probe.list(scene.path("folder")) == ["inner"])
                #expect(try scene.probe.ask("rmdir", scene.path("folder")) == .refused("ENOTEMPTY"))
                let isThere = try scene.probe.exists(scene.path("folder/first"))
                #expect(!isThere)
            }
        }

        /// Over an existing file, the name binding shows the exchange.
        @Test func copiedOverAFileInAnotherFolder() throws {
            let scene = try AttackScene()
            try shell("cp '\(scene.file("other/inner").path)' '\(scene.file("folder/inner").path)'").succeeded()
            try scene.expectRefused("folder/inner")
        }

        @Test(arguments: [0, 1, 100, 511, 512, 4096])
        func aPlantedFileOfRandomBytes(_ size: Int) throws {
            let scene = try AttackScene()
            try Disk.write([UInt8](seed: 4, count: size), to: scene.file("single").path)
            try scene.expectRefused("single")
        }

        /// The header of a file from another vault, made with the same passcode.
        @Test func aForeignFile() throws {
            let scene = try AttackScene()
            let other = try AttackScene()
            try Disk.write(try Disk.read(other.file("first").path), to: scene.file("first").path)
            try scene.expectRefused("first")
        }

        /// A refused file is never taken for an empty one: opening it for writing must not make it empty either.
        @Test func aRefusedFileIsNotOverwritten() throws {
            let scene = try AttackScene()
            let path = scene.file("first").path
            try scene.file("first").edit { $0[480] ^= 1 }
            let before = try Disk.read(path)
            try scene.afterwards(except: ["first"]) { scene throws in
                #expect(try scene.probe.open(0, scene.path("first"), "rw,creat") == .refused("EIO"))
                #expect(try scene.probe.open(0, scene.path("first"), "rw,trunc") == .refused("EIO"))
                #expect(try scene.probe.ask("truncate", scene.path("first"), "0") == .refused("EIO"))
                #expect(try scene.probe.list(scene.mount.path).contains("first"), "its name is there still")
            }
            #expect(try Disk.read(path) == before)
        }
    }
}

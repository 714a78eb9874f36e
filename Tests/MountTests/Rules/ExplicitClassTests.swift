import TestSupport
import Testing

extension MountTests {
    /// A class is explicit when it was set on the file, else inherited.
    @Suite struct ExplicitClass {
        @Test func listxattrShowsItOnlyWhereItWasSet() throws {
            try withScene { scene in
                try scene.makeFolder("strict", class: .complete)
                try scene.makeFile("strict/inherits")
                #expect(try scene.classOf("strict/inherits") == .complete)
                #expect(try !scene.isExplicit("strict/inherits"))
                #expect(try scene.isExplicit("strict"), "it was set on the directory")

                try scene.setClass(.complete, of: "strict/inherits")
                #expect(try scene.isExplicit("strict/inherits"), "the same class, but set")
            }
        }

        @Test func copyingDoesNotCarryAnInheritedClass() throws {
            try withScene { scene in
                try scene.makeFolder("strict", class: .complete)
                try scene.makeFolder("open", class: ProtectionClass.none)
                try scene.makeFile("strict/inherits")
                try scene.makeFile("strict/set", class: .completeUnlessOpen)
                try shell("cp -a strict/inherits strict/set open/", in: scene.mount.path).succeeded()
                #expect(try scene.classOf("open/inherits") == ProtectionClass.none)
                #expect(try !scene.isExplicit("open/inherits"))
                #expect(try scene.classOf("open/set") == .completeUnlessOpen)
                #expect(try scene.isExplicit("open/set"))
            }
        }

        @Test func removingTheAttributeClearsTheMarkAndKeepsTheClass() throws {
            try withScene { scene in
                try scene.makeFile("file", class: .complete)
                try scene.probe.ask("removexattr", scene.path("file"), Probe.classAttribute).required("removexattr")
                #expect(try scene.classOf("file") == .complete)
                #expect(try !scene.isExplicit("file"))
            }
        }

        @Test func staysSetAcrossARemount() throws {
            let vault = try Vault()
            let probe = try Probe()
            try withMount(vault) { mount in
                try Scene(mount: mount, probe: probe).makeFile("file", class: .complete)
                try Scene(mount: mount, probe: probe).makeFolder("folder", class: .completeUnlessOpen)
            }
            try withMount(vault, unlocked: false) { mount in
                let scene = Scene(mount: mount, probe: probe)
                let classes = [try scene.classOf("file"), try scene.classOf("folder")]
                #expect(classes == [.complete, .completeUnlessOpen])
                #expect(try scene.isExplicit("file"))
                #expect(try scene.isExplicit("folder"))
            }
        }

        @Test(arguments: [
            ("A", ProtectionClass.complete), ("B", .completeUnlessOpen),
            ("C", .completeUntilFirstUserAuthentication), ("D", ProtectionClass.none),
            ("NSFileProtectionComplete", .complete), ("NSFileProtectionCompleteUnlessOpen", .completeUnlessOpen),
            ("NSFileProtectionCompleteUntilFirstUserAuthentication", .completeUntilFirstUserAuthentication),
            ("NSFileProtectionNone", ProtectionClass.none),
            ("complete", .complete), ("complete-unless-open", .completeUnlessOpen),
            ("complete-until-first-user-authentication", .completeUntilFirstUserAuthentication),
            ("none", ProtectionClass.none),
        ])
        func everyNameOfAClassIsTaken(_ name: String, _ protection: ProtectionClass) throws {
            try withScene { scene in
                try scene.makeFile("file")
                try shell("setfattr -n user.latchkey.class -v \(name) file", in: scene.mount.path).succeeded()
                #expect(try scene.classOf("file") == protection)
                let answer = try shell(
                    "getfattr --only-values -n user.latchkey.class file", in: scene.mount.path)
                #expect(answer.text == protection.rawValue, "getfattr answers the long name")
            }
        }

        @Test func aBadValueIsEINVALAndChangesNothing() throws {
            try withScene { scene in
                try scene.makeFile("file", class: .completeUnlessOpen)
                try scene.makeFolder("folder", class: .completeUnlessOpen)
                let bad = [
                    "", "E", "completely", "complete ", "AA", "NSFileProtection", String(repeating: "A", count: 5000),
                ]
                for name in ["file", "folder"] {
                    for value in bad {
                        #expect(
                            try scene.probe.setClass(value, of: scene.path(name)) == .refused("EINVAL"),
                            "\(name): \(value.prefix(20))")
                    }
                    #expect(try scene.classOf(name) == .completeUnlessOpen)
                }
            }
        }

        /// Having write permission is not enough.
        @Test func onlyTheOwnerSetsIt() throws {
            try withScene(options: ["-o", "allow_other,default_permissions"]) { scene in
                try scene.probe.ask("chmod", scene.mount.path, "0755").required()
                try scene.makeFile("mine")
                try scene.makeFile("yours")
                try scene.probe.ask("chmod", scene.path("mine"), "0666").required()
                try scene.probe.ask("chown", scene.path("yours"), "65534", "65534").required()
                let other = try Probe()
                try other.ask("become", "65534", "65534").required()
                #expect(try other.setClass("complete", of: scene.path("mine")) == .refused("EPERM"))
                #expect(try other.setClass("complete", of: scene.path("yours")) == .ok())
                let removed = try other.ask("removexattr", scene.path("mine"), Probe.classAttribute)
                #expect(!removed.succeeded)
                #expect(try scene.classOf("mine") == .completeUntilFirstUserAuthentication)
                other.process.send(9)
                other.process.wait()
            }
        }
    }
}

import Glibc
import TestSupport
import Testing

extension MountTests.DataProtection {
    @Test(arguments: ProtectionClass.allCases)
    func aFileIsWrittenWithItsClass(_ protection: ProtectionClass) throws {
        try withProtected { it in
            let contents = [UInt8](seed: 1, count: 10_000)
            try it.write(protection, "file", contents).required()
            #expect(try it.scene.contents("file") == contents)
            #expect(try it.scene.classOf("file") == protection)
            #expect(try it.scene.isExplicit("file"))
            #expect(try it.write(protection, "empty", []) == .ok())
            #expect(try it.scene.classOf("empty") == protection)
            #expect(try it.names() == ["empty", "file"])
        }
    }

    /// A rename would pass the replaced file's class on; here the requested class counts, weaker or stronger.
    @Test(arguments: ProtectionClass.allCases, ProtectionClass.allCases)
    func theClassOfAReplacedFileDoesNotCount(_ old: ProtectionClass, _ new: ProtectionClass) throws {
        try withProtected { it in
            try it.scene.makeFile("file", class: old)
            #expect(try it.write(new, "file", [9, 9]) == .ok())
            #expect(try it.scene.contents("file") == [9, 9])
            #expect(try it.scene.classOf("file") == new)
            #expect(try it.names() == ["file"])
        }
    }

    @Test func theReplacedFilesPermissionsStay() throws {
        try withProtected { it in
            try it.scene.makeFile("file")
            try shell("chmod 0640 file; ln -s file link", in: it.mount.path)
            if geteuid() == 0 { try shell("chown 12:34 file", in: it.mount.path) }
            let before = try shell("stat -c '%a %u %g' file", in: it.mount.path).text
            #expect(try it.write(.complete, "link", [9]) == .ok())
            #expect(try shell("stat -c '%a %u %g' file", in: it.mount.path).text == before)
            #expect(try shell("readlink link", in: it.mount.path).text == "file\n", "the link stays")
            #expect(try it.scene.contents("file") == [9])
            #expect(try it.scene.classOf("file") == .complete)
        }
    }

    @Test func aFolderIsNotReplaced() throws {
        try withProtected { it in
            try it.scene.makeFolder("folder")
            #expect(try it.write(.complete, "folder", [9]) == .refused("EISDIR"))
            #expect(try it.write(.complete, "missing/file", [9]) == .refused("ENOENT"))
            #expect(try it.names() == ["folder"])
        }
    }

    /// What each class allows if the folder's class may forbid it: a refused write leaves no temporary file.
    @Test(arguments: [LockState.beforeFirstUnlock, .locked, .deeplyLocked], ProtectionClass.allCases)
    func whileLockedItDependsOnTheClassAlone(_ state: LockState, _ folder: ProtectionClass) throws {
        try withProtected(["--default-class", folder.rawValue], unlocked: state != .beforeFirstUnlock) { it in
            if state == .locked { try it.mount.lockNow() }
            if state == .deeplyLocked { try it.mount.lockDeeply() }
            var expected: [String] = []
            for protection in ProtectionClass.allCases {
                let isWritten =
                    switch protection {
                    case .complete: false
                    case .completeUnlessOpen, .none: true
                    case .completeUntilFirstUserAuthentication: state == .locked
                    }
                let answer = try it.write(protection, "\(protection)", [1, 2, 3])
                #expect(answer == (isWritten ? .ok() : .refused("locked")), "class \(protection)")
                if isWritten { expected.append("\(protection)") }
            }
            #expect(try it.names() == expected)
            try it.mount.unlock()
            for name in expected {
                #expect(try it.scene.contents(name) == [1, 2, 3])
                #expect(try it.scene.classOf(name).letter == name)
            }
        }
    }

    @Test func aWriteThatIsRefusedLeavesTheOldFile() throws {
        try withProtected { it in
            try it.scene.makeFile("file", class: .completeUntilFirstUserAuthentication, [1, 2, 3])
            try it.mount.lockNow()
            #expect(try it.write(.complete, "file", [9]) == .refused("locked"))
            #expect(try it.scene.contents("file") == [1, 2, 3])
            #expect(try it.scene.classOf("file") == .completeUntilFirstUserAuthentication)
            #expect(try it.names() == ["file"])
        }
    }
}

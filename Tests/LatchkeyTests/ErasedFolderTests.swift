import Administration
import Foundation
import Posix
import TestSupport
import Testing

@testable import latchkey

/// Which folder `erase --files` empties, if the daemon of another user says where the vault is.
@Suite struct ErasedFolderTests {
    @Test func onlyAVaultOfThatUserWithoutLinks() throws {
        let folder = try TemporaryFolder()
        let vault = try folder.makeFolder("vault")
        let link = folder.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: vault)
        let above = folder.path("above")
        try FileManager.default.createSymbolicLink(atPath: above, withDestinationPath: folder.path)
        func opens(_ path: String, of owner: UInt32? = nil) -> Bool {
            (try? Erase.folder(AbsolutePath(known: Path(path)), of: owner)) != nil
        }
        #expect(!opens(vault), "it is no vault")
        try Data().write(to: URL(filePath: vault + "/lk.lock"))
        #expect(opens(vault) && opens(vault, of: geteuid()))
        #expect(!opens(vault, of: geteuid() + 1), "another user's")
        #expect(!opens(link) && !opens(above + "/vault"), "a symbolic link")
    }
}

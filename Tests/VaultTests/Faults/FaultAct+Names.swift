import Format
import Posix
import Store

@testable import Vault

extension FaultAct {
    private static let long = FaultScene.long
    private static let longFree = FaultScene.longFree

    /// rename(2), link(2) and unlink(2) of anything but folders.
    static let names: [FaultAct] = [
        .act("renames") { scene in try scene.rename("file", to: "moved", into: scene.folder) },
        .act("renames what the journal has") { scene in try scene.rename("busy", to: "moved") },
        .act("renames what was never synced") { scene in try scene.rename("fresh", to: "moved") },
        .act("renames to a long name") { scene in try scene.rename("file", to: longFree) },
        .act("renames from a long name") { scene in try scene.rename(long, to: "moved") },
        .act("renames from a long name to another") { scene in
            try scene.rename(long, to: longFree, into: scene.folder)
        },
        .act("replaces a file") { scene in try scene.rename("busy", to: "file") },
        .act("replaces a file that the journal has") { scene in try scene.rename("file", to: "busy") },
        .act("replaces a file that only the journal has") { scene in try scene.rename("file", to: "young") },
        .act("replaces a file of a long name") { scene in try scene.rename("fresh", to: long) },
        .act("replaces one of several links") { scene in try scene.rename("file", to: "second", into: scene.folder) },
        .act("replaces a symbolic link") { scene in try scene.rename("file", to: "far") },
        .act("takes over a stricter class") { scene in try scene.rename("file", to: "strict") },
        .act("takes over a weaker class") { scene in try scene.rename("file", to: "weak") },
        .act("renames one of several links") { scene in try scene.rename("linked", to: "moved", into: scene.folder) },
        .act("renames a symbolic link") { scene in try scene.rename("far", to: longFree) },
        .act("renames a node") { scene in try scene.rename("pipe", in: scene.folder, to: "moved") },
        .act("leaves a whiteout") { scene in
            try scene.withMoved("file", in: scene.root) {
                try scene.vault.rename(
                    scene.vault.renameEnd("file", in: scene.root), $0,
                    to: scene.vault.renameEnd("moved", in: scene.root), replaced: nil, RenameKind(leavesWhiteout: true))
            }
        },
        .act("exchanges two files") { scene in try scene.exchange("busy", "second", in: scene.folder) },
        .act("exchanges long names") { scene in try scene.exchange(long, "pipe", in: scene.folder) },
        .act("exchanges a file and a folder") { scene in try scene.exchange("file", "deep", in: scene.folder) },
        .act("exchanges two folders") { scene in try scene.exchange("folder", long, in: scene.other) },
        .act("links") { scene in
            try scene.using("file") {
                try scene.vault.link("file", in: scene.root, file: $0, to: "third", in: scene.folder)
            }
        },
        .act("links under a long name") { scene in
            try scene.using("busy") {
                try scene.vault.link("busy", in: scene.root, file: $0, to: longFree, in: scene.root)
            }
        },
        .act("links a symbolic link") { scene in
            try scene.vault.link("far", in: scene.root, file: nil, to: "third", in: scene.folder)
        },
        .act("unlinks") { scene in try scene.vault.unlink("file", in: scene.root) },
        .act("unlinks what only the journal has") { scene in try scene.vault.unlink("young", in: scene.root) },
        .act("unlinks a long name") { scene in try scene.vault.unlink(long, in: scene.root) },
        .act("unlinks one of several links") { scene in try scene.vault.unlink("linked", in: scene.root) },
        .act("unlinks a symbolic link") { scene in try scene.vault.unlink("far", in: scene.root) },
    ]

    /// mkdir(2), rmdir(2), and rename(2) of folders.
    static let folders: [FaultAct] = [
        .act("makes a folder") { scene in _ = try scene.test.makeDirectory("made") },
        .act("makes a folder with a long name where a list is inherited") { scene in
            _ = try scene.test.makeDirectory(longFree, in: scene.other)
        },
        .act("removes a folder") { scene in try scene.vault.removeDirectory("empty", in: scene.other) },
        .act("renames a folder") { scene in try scene.rename("folder", to: "moved", into: scene.other) },
        .act("renames a folder to a long name") { scene in try scene.rename("folder", to: longFree) },
        .act("renames a folder from a long name") { scene in try scene.rename(long, in: scene.other, to: "moved") },
        .act("replaces an empty folder", halfDone: "a folder with nothing in it") { scene in
            try scene.rename("folder", to: "empty", into: scene.other)
        },
        .act("sets a folder's class") { scene in
            try scene.vault.setDefaultClass(.complete, isExplicit: true, of: scene.folder)
        },
        .act("clears a folder's class") { scene in
            try scene.vault.setDefaultClass(scene.root.record.defaultClass, isExplicit: false, of: scene.root)
        },
    ]
}

import Format
import Glibc
import Posix
import Store

@testable import Vault

extension FaultAct {
    private static let colour = Array("user.colour".utf8)
    private static let listAndMode = "the list, which is what counts, is the old one or the new one"

    /// setfattr(1), setfacl(1), chmod(2), chown(2), utimensat(2), and classes.
    static let metadata: [FaultAct] = [
        .act("sets an attribute") { scene in
            try scene.using("blank") { try scene.vault.setAttribute(colour, to: [7], flags: 0, of: .file($0)) }
        },
        .act("replaces an attribute") { scene in
            try scene.using("file") {
                try scene.vault.setAttribute(colour, to: [7, 8], flags: XATTR_REPLACE, of: .file($0))
            }
        },
        .act("sets an attribute of a long name") { scene in
            try scene.vault.setAttribute(FaultScene.longAttribute, to: [1], flags: 0, of: .directory(scene.folder))
        },
        .act("removes an attribute") { scene in
            try scene.using("file") { try scene.vault.removeAttribute(colour, of: .file($0)) }
        },
        .act("removes an attribute of a long name") { scene in
            try scene.using("file") { try scene.vault.removeAttribute(FaultScene.longAttribute, of: .file($0)) }
        },
        .act("sets a list", halfDone: listAndMode) { scene in
            try scene.using("file") {
                try scene.vault.setAccessList(FaultScene.list(3), of: .file($0), dropsSetGroupID: false)
            }
        },
        .act("sets another list", halfDone: listAndMode) { scene in
            try scene.vault.setAccessList(FaultScene.list(3), of: .directory(scene.other), dropsSetGroupID: false)
        },
        .act("sets a list that is a mode", halfDone: listAndMode) { scene in
            try scene.using("shared") {
                try scene.vault.setAccessList(
                    AccessControlList(mode: 0o640).encoded, of: .file($0), dropsSetGroupID: false)
            }
        },
        .act("sets a default list") { scene in
            try scene.vault.setDefaultList(FaultScene.list(1), of: .directory(scene.folder))
        },
        .act("removes a default list") { scene in try scene.vault.removeDefaultList(of: .directory(scene.other)) },
        .act("sets a mode") { scene in try scene.using("file") { try $0.setMode(0o604) } },
        .act("sets a mode over a list", halfDone: listAndMode) { scene in
            try scene.using("shared") { try $0.setMode(0o604) }
        },
        .act("sets a folder's mode over a list", halfDone: listAndMode) { scene in
            try scene.vault.setMode(0o711, of: scene.other)
        },
        .act("sets a node's mode") { scene in try scene.vault.setMode(0o604, of: "pipe", in: scene.folder) },
        .act("sets an owner") { scene in try scene.using("file") { try $0.setOwner(user: 12, group: 13) } },
        .act("sets a link's owner") { scene in
            try scene.vault.setOwner(user: 12, group: nil, of: "link", in: scene.root)
        },
        .act("sets a time") { scene in
            try scene.using("timed") {
                try $0.setTimes(accessed: .now, modified: .at(Timespec(seconds: 1_100_000_000, nanoseconds: 0)))
            }
        },
        .act("sets the time of what the journal has") { scene in
            try scene.using("busy") {
                try $0.setTimes(accessed: .keep, modified: .at(Timespec(seconds: 1_100_000_000, nanoseconds: 0)))
            }
        },
        .act("sets a stricter class") { scene in try scene.using("file") { try $0.setClass(.complete) } },
        .act("sets a weaker class") { scene in try scene.using("strict") { try $0.setClass(.none) } },
        .act("sets the class of an empty file") { scene in try scene.using("blank") { try $0.setClass(.complete) } },
        .act("sets the class of what the journal has") { scene in
            try scene.using("busy") { try $0.setClass(.completeUnlessOpen) }
        },
        .act("clears the mark of a class") { scene in try scene.using("strict") { try $0.clearExplicitMark() } },
        // What `class set --rekey` does in a mount.
        FaultAct("gives a file a new key") { scene in
            try scene.using(try scene.test.create("copy")) {
                try $0.setClass(.complete)
                try $0.write(FaultScene.bytes(5000, 4), at: 0)
                try $0.synchronize(dataOnly: false)
            }
            return { try scene.rename("copy", to: "strict") }
        },
    ]
}

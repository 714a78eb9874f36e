import ArgumentParser

/// `latchkey class`: the protection class of files and folders.
struct Class: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show or set the protection class of files and folders.",
        discussion: """
            A  complete                                   readable while unlocked
            B  complete-unless-open                       can be created while locked; open files stay readable
            C  complete-until-first-user-authentication   readable from the first unlock until lock --deep
            D  none                                       readable whenever it is mounted

            The class is also the extended attribute user.latchkey.class, for getfattr and setfattr.
            """,
        subcommands: [Get.self, Set.self])
}

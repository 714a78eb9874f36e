internal import Posix

/// The extended attribute of a file that has a weaker class only because its intended class was locked when it was
/// written.
///
/// It is on the file, not in a list elsewhere: it follows renames, disappears with the file, and needs no key.
enum UpgradeMark {
    private static let name = "user.dataprotection.upgrade"

    static func set(on file: Descriptor) throws(Errno) {
        try file.setAttribute(name, to: Array("complete".utf8))
    }

    static func isOn(_ file: Descriptor) throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try file.attribute(name)
            return true
        } catch .ENODATA {
            return false
        }
    }

    static func remove(from file: Descriptor) throws(Errno) {
        do throws(Errno) { try file.removeAttribute(name) } catch .ENODATA {}
    }
}

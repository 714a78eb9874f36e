import Glibc

/// What this process may give files to.
enum Process {
    /// Its effective group, and its supplementary groups.
    ///
    /// Source: getgroups(2).
    static var groups: Set<UInt32> {
        var list = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = unsafe getgroups(Int32(list.count), &list)
        return Set(list.prefix(Int(max(0, count))) + [getegid()])
    }
}

import Glibc

// System calls that take a path; each sets errno as the function of its name in C does.

extension Path {
    private func called(_ body: (UnsafePointer<CChar>) -> Int32) -> Int32 {
        let (result, error) = unsafe withCString { path in
            let result = unsafe body(path)
            return (result, errno)
        }
        // The string's memory has been released since.
        errno = error
        return result
    }

    /// Follows symbolic links. Source: stat(2).
    public func status(_ status: inout stat) -> Int32 { unsafe called { unsafe stat($0, &status) } }

    /// Source: lstat(2).
    public func linkStatus(_ status: inout stat) -> Int32 { unsafe called { unsafe lstat($0, &status) } }

    /// Source: access(2).
    public func access(_ mode: Int32) -> Int32 { unsafe called { unsafe Glibc.access($0, mode) } }

    /// Source: mkdir(2).
    public func mkdir(_ mode: mode_t) -> Int32 { unsafe called { unsafe Glibc.mkdir($0, mode) } }

    /// Source: rmdir(2).
    public func rmdir() -> Int32 { unsafe called { unsafe Glibc.rmdir($0) } }

    /// Source: unlink(2).
    public func unlink() -> Int32 { unsafe called { unsafe Glibc.unlink($0) } }

    /// Source: rename(2).
    public func rename(to new: Path) -> Int32 {
        unsafe called { old in unsafe new.withCString { unsafe Glibc.rename(old, $0) } }
    }

    /// Source: umount2(2).
    public func unmount(_ flags: Int32) -> Int32 { unsafe called { unsafe umount2($0, flags) } }

    /// The absolute path without symbolic links, `.` and `..`; the file must exist.
    ///
    /// Source: realpath(3).
    public func resolved() throws(Errno) -> Path {
        try unsafe withCString { path throws(Errno) in
            guard let resolved = unsafe realpath(path, nil) else { throw Errno.current }
            defer { unsafe free(resolved) }
            return unsafe Path(cString: resolved)
        }
    }

    public init(cString: UnsafePointer<CChar>) {
        unsafe self.init(bytes: UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
    }

    /// The working folder; nil if it has no path.
    ///
    /// Source: getcwd(3).
    public static var workingFolder: Path? {
        guard let folder = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(folder) }
        return unsafe Path(cString: folder)
    }
}

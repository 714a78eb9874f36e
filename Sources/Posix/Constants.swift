import Glibc

// Linux constants that Glibc's module lacks, under their own names. They are equal on all architectures that Swift
// supports.

// open(2)
public let O_PATH: Int32 = 0o10_000_000
public let O_NOATIME: Int32 = 0o1_000_000
// With O_DIRECTORY, which open(2) demands and whose number differs.
public let O_TMPFILE: Int32 = 0o20_000_000 | O_DIRECTORY

// renameat2(2)
public let RENAME_NOREPLACE: UInt32 = 1
public let RENAME_EXCHANGE: UInt32 = 2
public let RENAME_WHITEOUT: UInt32 = 4

// fallocate(2)
public let FALLOC_FL_KEEP_SIZE: Int32 = 0x01
public let FALLOC_FL_PUNCH_HOLE: Int32 = 0x02
public let FALLOC_FL_COLLAPSE_RANGE: Int32 = 0x08
public let FALLOC_FL_ZERO_RANGE: Int32 = 0x10
public let FALLOC_FL_INSERT_RANGE: Int32 = 0x20

// setxattr(2)
public let XATTR_CREATE: Int32 = 1
public let XATTR_REPLACE: Int32 = 2

// lseek(2)
public let SEEK_DATA: Int32 = 3
public let SEEK_HOLE: Int32 = 4

// utimensat(2)
let UTIME_NOW = (1 << 30) - 1
let UTIME_OMIT = (1 << 30) - 2

// fchownat(2)
let AT_EMPTY_PATH: Int32 = 0x1000

import CLinux
import Glibc

/// Tells of changes in folders, made by any process.
///
/// Takes one descriptor, close-on-exec and nonblocking. The kernel keeps the inode of each watched folder in memory
/// until this object is freed or the folder is removed. Thread-safe, but one thread at a time reads.
///
/// Source: fanotify(7), with FAN_REPORT_DFID_NAME; without privileges since Linux 5.13.
package final class FolderWatch: Sendable {
    /// A folder, as its events name it: its file handle.
    package struct FolderID: Hashable, Sendable {
        private let type: Int32
        private let bytes: [UInt8]

        init(_ id: lk_folder_id) {
            type = id.type
            bytes = unsafe withUnsafeBytes(of: id.bytes) { unsafe Array($0.prefix(Int(id.size))) }
        }
    }

    package enum Event: Hashable, Sendable {
        /// An entry of the folder, or with nil the folder itself.
        case changed(FolderID, Name?)
        /// A watched folder is gone, and its watch too.
        case gone(FolderID)
        /// The kernel's queue was full: any folder may have changed.
        case lost
    }

    /// Readable while there are events.
    package let readable: Descriptor
    private let process = getpid()
    private static let room = 256 << 10

    /// - Throws: EPERM, ENOSYS or EINVAL where the kernel, or a filter of system calls, does not have it; EMFILE if the
    ///   user has too many (fs.fanotify.max_user_groups).
    package init() throws(Errno) {
        readable = Descriptor(owning: try call { lk_folder_watch() })
    }

    /// How the events of a folder name it.
    ///
    /// - Throws: EOPNOTSUPP if the file system has no file handles; EOVERFLOW if they are longer than 64 bytes.
    package static func identify(_ folder: Descriptor) throws(Errno) -> FolderID {
        var id = lk_folder_id()
        try perform { unsafe lk_folder_identify(folder.number, &id) }
        return FolderID(id)
    }

    /// Watches a folder, from the return on. Does nothing for one that is watched.
    ///
    /// - Throws: ENOSPC if the user has too many watches (fs.fanotify.max_user_marks); EXDEV or ENODEV if the file
    ///   system has no number of its own.
    package func add(_ folder: Descriptor) throws(Errno) {
        try perform { lk_folder_watch_add(readable.number, folder.number) }
    }

    /// The events that wait, of other processes alone except `gone` and `lost`; and how many there were in all. Does
    /// not wait. Returns after about 10,000 of them, and the next call goes on.
    package func read() throws(Errno) -> (events: Set<Event>, count: Int) {
        var events: Set<Event> = []
        var count = 0
        try unsafe withUnsafeTemporaryAllocation(byteCount: Self.room, alignment: 8) { bytes throws(Errno) in
            while count < 10_000 {
                let length = unsafe Glibc.read(readable.number, bytes.baseAddress!, bytes.count)
                if length == -1 {
                    let error = Errno.current
                    if error == .EINTR { continue }
                    guard error == .EAGAIN else { throw error }
                    return
                }
                guard length > 0 else { return }
                unsafe take(UnsafeRawBufferPointer(rebasing: bytes[..<length]), &events, &count)
            }
        }
        return (events, count)
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ events: inout Set<Event>, _ count: inout Int) {
        var offset = 0
        while offset < bytes.count {
            var event = unsafe lk_folder_event()
            let length = unsafe lk_folder_event(bytes.baseAddress! + offset, bytes.count - offset, &event)
            guard length > 0 else {
                // Of a form that this code does not know.
                events.insert(.lost)
                return
            }
            count += 1
            offset += length
            if unsafe event.is_lost != 0 { events.insert(.lost) }
            guard unsafe event.has_folder != 0 else {
                // Of a folder that is not named.
                if unsafe event.process != process { events.insert(.lost) }
                continue
            }
            let isGone = unsafe event.is_folder_gone != 0
            // Most are our own.
            guard unsafe isGone || event.process != process else { continue }
            let folder = unsafe FolderID(event.folder)
            events.insert(isGone ? .gone(folder) : .changed(folder, unsafe name(of: event)))
        }
    }

    private func name(of event: lk_folder_event) -> Name? {
        guard let start = unsafe event.name else { return nil }
        return unsafe Name(bytes: UnsafeRawBufferPointer(start: start, count: event.name_size))
    }
}

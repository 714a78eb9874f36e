import Posix

/// The times that stat(2) shows, where the backing file does not tell them.
package struct ShownTimes {
    /// The time of the last write, if the backing file does not tell it.
    package private(set) var modified: Timespec?
    /// The time of the last change, if the backing file does not tell it.
    package private(set) var touched: Timespec?
    /// The time of change to show while the backing file's is that of an operation that stat(2) must not show.
    package private(set) var change: (shown: Timespec, backing: Timespec)?

    /// The contents change. A store with a time resolution of one or two seconds shows a write near the stamp's second
    /// only by `modified`.
    package mutating func didWrite(_ now: Timespec, stamp: Int64) {
        let isStamped = (now.seconds - 2...now.seconds + 2).contains(stamp)
        if modified != nil || isStamped { modified = now }
        touched = now
    }

    /// The contents change, and the backing file may not show when.
    package mutating func didModify(_ now: Timespec) {
        modified = now
        touched = now
    }

    /// Something else than the contents changes.
    package mutating func didTouch(_ now: Timespec) { touched = now }

    /// From now on stat(2) shows this time of modification; with nil, what the backing file and its header tell.
    package mutating func show(modified time: Timespec?) { modified = time }

    /// The backing file was changed in a way that stat(2) must not show.
    package mutating func keepChange(_ shown: Timespec, over backing: Timespec) {
        change = (shown, backing)
        touched = nil
    }

    /// A change has failed.
    package mutating func takeBack(_ before: ShownTimes) { (modified, touched) = (before.modified, before.touched) }

    /// What an overlay shows.
    package mutating func show(modified: Timespec?, changed: Timespec?, over backing: Timespec) {
        self.modified = modified
        change = changed.map { ($0, backing) }
    }
}

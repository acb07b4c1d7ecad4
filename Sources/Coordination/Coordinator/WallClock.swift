package import Commands

/// Notices when the wall clock jumps: backoffs are meant in elapsed time, and stand in the store in wall-clock time.
/// Pure; both clocks are passed in.
package struct WallClock: Sendable {
    /// Wall clock less monotonic clock, in milliseconds; nil before the first look.
    package private(set) var offset: Int64?
    /// The latest time that it showed before a jump.
    private var latest: Timestamp?

    /// What a look found.
    package struct Jump: Sendable, Hashable {
        package var by: Duration
        /// After a jump forward, halfway between the old time and the new: what was written from then on has seen the jump.
        /// Nil where what has seen it cannot be told from what was written long before: after a jump back, and after a jump
        /// forward to times that the clock has shown before.
        package var writtenBefore: Timestamp?
    }

    /// Smaller steps are the work of clock discipline, and harm nobody.
    package static let tolerance: Duration = .seconds(2)

    /// - Parameter offset: as somebody found it before, on this boot.
    package init(offset: Int64? = nil) { self.offset = offset }

    /// - Parameters:
    ///   - wall: the wall clock now.
    ///   - monotonic: the monotonic clock now, in nanoseconds.
    /// - Returns: how the wall clock jumped since the last call; nil where it did not.
    package mutating func jump(wall: Timestamp, monotonic: Int64) -> Jump? {
        let current = wall.milliseconds - monotonic / 1_000_000
        guard let before = offset else {
            offset = current
            return nil
        }
        let jump = current - before
        guard abs(jump) > Self.tolerance.milliseconds else { return nil }
        offset = current
        let unmoved = wall + .milliseconds(-jump)
        let latest = max(latest ?? unmoved, unmoved)
        self.latest = latest
        let middle = wall + .milliseconds(-jump / 2)
        return Jump(by: .milliseconds(jump), writtenBefore: jump > 0 && latest < middle ? middle : nil)
    }
}

package import Commands
package import Host

/// Notices when the wall clock jumps. A backoff is elapsed time, but its end is stored as wall-clock time.
/// Pure; both clocks are passed in.
package struct WallClock: Sendable {
    /// Wall clock minus monotonic clock, in milliseconds; nil before the first comparison.
    package private(set) var offset: Int64?
    /// The latest time that the wall clock showed before a jump.
    private var latest: Timestamp?

    /// A jump of the wall clock, and the backoffs that it affects.
    package struct Jump: Sendable, Hashable {
        package var by: Duration
        /// After a jump forward, halfway between the old time and the new: rows that were written later have
        /// seen the jump. Nil where these cannot be told from older rows: after a jump back, and after a jump
        /// forward to times that the clock has shown before.
        package var writtenBefore: Timestamp?
    }

    /// Smaller steps come from clock discipline and are harmless.
    package static let tolerance: Duration = .seconds(2)

    /// - Parameter offset: as an earlier coordinator found it on this boot; nil where none did.
    package init(offset: Int64? = nil) { self.offset = offset }

    /// - Parameters:
    ///   - wall: the wall clock now.
    ///   - monotonic: the monotonic clock now.
    /// - Returns: how the wall clock jumped since the last call; nil where it did not.
    package mutating func jump(wall: Timestamp, monotonic: MonotonicTime) -> Jump? {
        let current = wall.milliseconds - monotonic.nanoseconds / 1_000_000
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

package import Commands

/// Notices when the wall clock jumps: backoffs are meant in elapsed time, and stand in the store in wall-clock time.
/// Pure; both clocks are passed in.
package struct WallClock: Sendable {
    /// Wall clock less monotonic clock, in milliseconds; nil before the first look.
    package private(set) var offset: Int64?

    /// Smaller steps are the work of clock discipline, and harm nobody.
    package static let tolerance: Duration = .seconds(2)

    /// - Parameter offset: as somebody found it before, on this boot.
    package init(offset: Int64? = nil) { self.offset = offset }

    /// - Parameters:
    ///   - wall: the wall clock now.
    ///   - monotonic: the monotonic clock now, in nanoseconds.
    /// - Returns: by how much the wall clock jumped since the last call; nil where it did not.
    package mutating func jump(wall: Timestamp, monotonic: Int64) -> Duration? {
        let current = wall.milliseconds - monotonic / 1_000_000
        guard let before = offset else {
            offset = current
            return nil
        }
        let jump = current - before
        guard abs(jump) > Self.tolerance.milliseconds else { return nil }
        offset = current
        return .milliseconds(jump)
    }
}

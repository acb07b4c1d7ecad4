import Commands
import TestSupport

/// Finds the true times of what processes have stamped one after the other, while their clock was set.
struct TrueTimes {
    enum Reading: Equatable {
        case at(Timestamp)
        /// Two settings explain the time equally well.
        case ambiguous
        /// No setting explains it.
        case impossible
    }

    /// A process reads the file of the clock a little after it was written.
    private static let tolerance = Duration.milliseconds(500)
    /// A process may read the clock, be stopped, and stamp what it has read.
    private static let lateness = tolerance + FaultSchedule.longestStop

    private let settings: [SteppedClock.Setting]
    private let end: Timestamp
    private var latest = Timestamp(milliseconds: 0)

    /// - Parameter end: the true time of the last stamp or later.
    init(_ settings: [SteppedClock.Setting], until end: Timestamp) { (self.settings, self.end) = (settings, end) }

    /// - Parameter stamp: of what was written after the previous one.
    mutating func next(_ stamp: Timestamp) -> Reading {
        var candidates: [(time: Timestamp, distance: Duration)] = []
        for (index, setting) in settings.enumerated() {
            let time = stamp + (.zero - setting.offset)
            let until = index + 1 < settings.count ? settings[index + 1].since : end
            guard time + Self.tolerance >= setting.since, time <= until + Self.lateness else { continue }
            let distance = time - latest
            candidates.append((time, distance < .zero ? .zero - distance : distance))
        }
        candidates.sort { $0.distance < $1.distance }
        guard let nearest = candidates.first else { return .impossible }
        if latest.milliseconds > 0,
            candidates.dropFirst().contains(where: {
                $0.distance - nearest.distance < .seconds(2) && $0.time != nearest.time
            })
        {
            return .ambiguous
        }
        latest = max(latest, nearest.time)
        return .at(nearest.time)
    }
}

import Commands
import Foundation
import Synchronization
import TestSupport

/// The wall clock of the processes of a run, which libfaketime sets, and the true times at which it was set.
final class TortureClock: Sendable {
    struct Setting: Sendable {
        /// The true time from which on it holds.
        var since: Timestamp
        /// What the clock shows more than the true time.
        var offset: Duration
    }

    private let path: String
    private let state = Mutex([Setting(since: Timestamp(milliseconds: 0), offset: .zero)])

    var settings: [Setting] { state.withLock { $0 } }
    var offset: Duration { state.withLock { $0[$0.count - 1].offset } }

    /// - Parameter directory: where the file stands that libfaketime reads.
    init(in directory: TemporaryDirectory) throws {
        path = "\(directory.path)/clock"
        try write(.zero)
    }

    /// Of every process that shall have this clock. The monotonic clock and the times of files stay true.
    var environment: [String: String?] {
        [
            "LD_PRELOAD": EndToEndTests.DurabilityTests.faketime, "FAKETIME_TIMESTAMP_FILE": path,
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
        ]
    }

    func set(_ offset: Duration) throws {
        let since = Timestamp.now
        try write(offset)
        state.withLock { $0.append(Setting(since: since, offset: offset)) }
    }

    /// By a rename, so that no process reads half of it.
    private func write(_ offset: Duration) throws {
        let seconds = offset.components.seconds
        try Data("\(seconds < 0 ? "" : "+")\(seconds)".utf8).write(to: URL(fileURLWithPath: "\(path).new"))
        guard rename("\(path).new", path) == 0 else { throw Missed("cannot set the clock: \(errno)") }
    }
}

/// Finds the true times of what processes have stamped one after the other, while their clock was set.
struct TrueTimes {
    enum Reading: Equatable {
        case at(Timestamp)
        /// Two settings explain the time equally well.
        case ambiguous
        /// No setting explains it.
        case impossible
    }

    /// A process may read the clock, be stopped, and stamp what it has read; and it reads the file of the clock a little
    /// after it was written.
    private static let tolerance = Duration.milliseconds(500)

    private let settings: [TortureClock.Setting]
    private let end: Timestamp
    private var latest = Timestamp(milliseconds: 0)

    /// - Parameter end: the true time of the last stamp or later.
    init(_ settings: [TortureClock.Setting], until end: Timestamp) { (self.settings, self.end) = (settings, end) }

    /// - Parameter stamp: of what was written after the previous one.
    mutating func next(_ stamp: Timestamp) -> Reading {
        var candidates: [(time: Timestamp, distance: Duration)] = []
        for (index, setting) in settings.enumerated() {
            let time = stamp + (.zero - setting.offset)
            let until = index + 1 < settings.count ? settings[index + 1].since : end
            guard time + Self.tolerance >= setting.since, time <= until + Self.tolerance else { continue }
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

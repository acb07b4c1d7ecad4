import Commands

/// An independent model of the rules: it lists the times minute by minute and applies the policies one by one.
struct ScheduleModel {
    enum Times: CaseIterable {
        case quarters, hours, nightInBerlin, quartersInBerlin, everySevenMinutes

        var expression: String {
            switch self {
            case .quarters, .quartersInBerlin: "*/15 * * * *"
            case .hours: "0 * * * *"
            case .nightInBerlin: "30 2 * * *"
            case .everySevenMinutes: "@every 7m"
            }
        }

        var zone: String {
            switch self {
            case .nightInBerlin, .quartersInBerlin: "Europe/Berlin"
            case .quarters, .hours, .everySevenMinutes: "UTC"
            }
        }

        var isInterval: Bool { self != .nightInBerlin }

        /// - Parameter minute: minutes from 1970-01-01T00:00:00Z, in the year 2026.
        func matches(_ minute: Int64) -> Bool {
            switch self {
            case .quarters, .quartersInBerlin: return minute % 15 == 0
            case .hours: return minute % 60 == 0
            case .everySevenMinutes: return minute % 7 == 0
            case .nightInBerlin:
                // 2026-03-29T01:00Z and 2026-10-25T01:00Z.
                let (spring, autumn): (Int64, Int64) = (29_579_100, 29_881_500)
                if minute == spring { return true }
                let offset: Int64 = (spring..<autumn).contains(minute) ? 120 : 60
                let isSecondPass = (autumn..<autumn + 60).contains(minute)
                return (minute + offset) % 1440 == 150 && !isSecondPass
            }
        }
    }

    struct Outcome: Equatable {
        var fires: [Timestamp] = []
        var skippedByMissed = 0
        var skippedByOverlap = 0
        var cancelsLast = false
        var next: Timestamp?
    }

    let definition: ScheduleDefinition
    /// All times of the period of the test, ascending.
    let times: [Timestamp]
    var since: Timestamp
    var isPaused = false
    /// A step back of the clock that is longer counts as a correction.
    private let maxStep: Duration

    init(_ definition: ScheduleDefinition, _ times: Times, minutes: Range<Int64>, since: Timestamp) {
        self.definition = definition
        self.times = minutes.filter(times.matches).map { Timestamp(milliseconds: $0 * 60_000) }
        self.since = since
        maxStep = times.isInterval ? .seconds(10) : .seconds(3 * 3600)
    }

    mutating func decide(now: Timestamp, last: ScheduledCommandState?) -> Outcome {
        var outcome = Outcome()
        guard !isPaused else { return outcome }
        if since - now > maxStep { since = now }
        let due = times.filter { $0 > since && $0 <= now }
        let missed = due.filter { now - $0 > definition.grace }
        let kept: [Timestamp]
        switch definition.missed {
        case .one: kept = missed.suffix(1)
        case .skip: kept = []
        case .all(let count): kept = missed.suffix(count)
        }
        outcome.skippedByMissed = missed.count - kept.count
        var state = last ?? .ended
        for time in kept + due[missed.count...] {
            switch (definition.overlap, state) {
            case (.allow, _), (_, .ended): outcome.fires.append(time)
            case (.queue, .running):
                outcome.fires.append(time)
                state = .waiting
                continue
            case (.cancel, _):
                // The command of an earlier time of this decision is not worth an insert.
                if outcome.fires.isEmpty { outcome.cancelsLast = true } else { outcome.skippedByOverlap += 1 }
                outcome.fires = [time]
            case (.skip, _), (.queue, .waiting): outcome.skippedByOverlap += 1
            }
            if state == .ended { state = .running }
        }
        since = due.last ?? since
        outcome.next = times.first { $0 > since }
        return outcome
    }
}

import Commands
import Store
import TestSupport

/// Schedules that fire while processes die.
extension Torture {
    enum TortureSchedule: String, CaseIterable {
        /// Every second fires, also the last 100 at which no coordinator ran.
        case every
        /// A second does not fire while the command of an earlier one runs.
        case single
        /// One flow waits for the one before.
        case queued

        var arguments: [String] {
            switch self {
            case .every: ["@every 1s", "noop", "--overlap", "allow", "--missed", "all:100"]
            case .single: ["* * * * * *", "noop", "--payload", #"{"milliseconds":1500}"#]
            case .queued: ["*/2 * * * * *", "--flow", "-", "--overlap", "queue", "--missed", "skip"]
            }
        }

        var input: String? {
            self == .queued ? "nodes: {a: {type: noop}, b: {type: noop, payload: {milliseconds: 100}, after: a}}" : nil
        }
    }

    func putSchedules() async throws {
        for schedule in TortureSchedule.allCases {
            let put = try await installation.run(
                program: "\(Installation.bin)/sluice", ["schedule", "put", schedule.rawValue] + schedule.arguments,
                input: schedule.input.map { Array($0.utf8) })
            if put.code != 0 { ledger.unexpected("a schedule cannot be put: \(put.errors)") }
        }
    }

    /// Waits until each schedule has fired again, with the clock put right: none waits for a time that a wrong clock showed.
    func awaitSchedules() async throws {
        func fired() async throws -> [Int64] { try await reading { try $0.schedules().map(\.state.fired) } }
        let before = try await fired()
        do {
            try await until("a time of each schedule", within: .seconds(60)) {
                zip(before, try await fired()).allSatisfy { $0 < $1 }
            }
        } catch let missed as Missed {
            let states = try await reading { try $0.schedules().map { "\($0.name): \($0.state)" } }
            ledger.unexpected("a schedule does not fire: \(missed): \(states)")
        }
    }

    /// Before the drain, which would never end.
    func pauseSchedules() async throws {
        let names = TortureSchedule.allCases.map(\.rawValue)
        let pause = try await installation.run(
            program: "\(Installation.bin)/sluice", ["schedule", "pause"] + names)
        if pause.code != 0 { ledger.unexpected("the schedules cannot be paused: \(pause.errors)") }
    }
}

/// Compares the times of schedules with the commands that they have submitted.
struct ScheduleChecker {
    private(set) var violations: [String] = []
    /// Times that fired.
    private(set) var fired = 0

    /// Whether the wall clock was set, so that times were passed by, or came twice and fired once.
    let isClockSet: Bool
    /// The numbers of the first and the last transition of each command.
    let numbers: [CommandID: ClosedRange<Int64>]

    init(isClockSet: Bool, numbers: [CommandID: ClosedRange<Int64>]) {
        (self.isClockSet, self.numbers) = (isClockSet, numbers)
    }

    mutating func check(_ schedule: StoredSchedule, _ commands: some Sequence<Command>) {
        let prefix = "schedule:\(schedule.name)@"
        var times: [(time: Int64, round: Substring, command: Command)] = []
        for command in commands {
            guard let key = command.uniqueKey, key.hasPrefix(prefix) else { continue }
            // A time of an interval that comes again after the clock was set back has “+2”, “+3” behind it.
            let parts = key.dropFirst(prefix.count).split(separator: "+")
            guard let time = parts.first.flatMap({ Timestamp(rfc3339: String($0)) }), parts.count == 1 || isClockSet
            else {
                violations.append("\(command.id) has the key “\(key)”")
                continue
            }
            times.append((time.milliseconds / 1000, parts.count > 1 ? parts[1] : "", command))
        }
        times.sort { ($0.time, $0.round) < ($1.time, $1.round) }
        let state = schedule.state
        func violate(_ text: String) { violations.append("schedule “\(schedule.name)”: \(text)") }
        fired += times.count
        if Int64(times.count) != state.fired { violate("counts \(state.fired) times, and has \(times.count) commands") }
        guard let first = times.first, let last = times.last else { return violate("never fired") }
        for (before, after) in zip(times, times.dropFirst())
        where before.time == after.time && before.round == after.round {
            violate("\(before.command.id) and \(after.command.id) are of one time")
        }
        // The first time after the put fires, whichever policy there is: the coordinator starts within the grace.
        let step: Int64 = schedule.name == Torture.TortureSchedule.queued.rawValue ? 2 : 1
        let decided = (state.since.milliseconds / 1000 - first.time) / step + 1
        // A clock that is set back lets times be decided twice.
        if isClockSet ? state.fired + state.skipped < decided : state.fired + state.skipped != decided {
            violate("\(decided) times have come, \(state.fired) fired and \(state.skipped) were skipped")
        }
        switch schedule.definition.overlap {
        case .allow:
            if !isClockSet, last.time - first.time + 1 != Int64(times.count) || state.skipped > 0 {
                violate("\(state.skipped) times were skipped, which the policy forbids")
            }
        case .skip:
            let lives = times.compactMap { time in numbers[time.command.id].map { (time.command.id, $0) } }
                .sorted { $0.1.lowerBound < $1.1.lowerBound }
            for (before, after) in zip(lives, lives.dropFirst()) where before.1.upperBound > after.1.lowerBound {
                violate("\(after.0) began before \(before.0) had ended")
            }
        case .queue, .cancel: break
        }
    }
}

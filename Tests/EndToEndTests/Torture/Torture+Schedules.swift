import Commands
import Store
import TestSupport

/// Schedules that fire while processes die.
extension Torture {
    enum TortureSchedule: String, CaseIterable {
        /// Every second fires, also those at which no coordinator ran.
        case every
        /// A second does not fire while the command of an earlier one runs.
        case single
        /// One flow waits for the one before.
        case queued

        var arguments: [String] {
            switch self {
            case .every: ["@every 1s", "noop", "--overlap", "allow", "--missed", "all:1000"]
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

    mutating func check(_ schedule: StoredSchedule, _ commands: some Sequence<Command>) {
        let prefix = "schedule:\(schedule.name)@"
        var times: [(time: Int64, command: Command)] = []
        for command in commands {
            guard let key = command.uniqueKey, key.hasPrefix(prefix) else { continue }
            guard let time = Timestamp(rfc3339: String(key.dropFirst(prefix.count))) else {
                violations.append("\(command.id) has the key “\(key)”")
                continue
            }
            times.append((time.milliseconds / 1000, command))
        }
        times.sort { $0.time < $1.time }
        let state = schedule.state
        func violate(_ text: String) { violations.append("schedule “\(schedule.name)”: \(text)") }
        fired += times.count
        if Int64(times.count) != state.fired { violate("counts \(state.fired) times, and has \(times.count) commands") }
        guard let first = times.first, let last = times.last else { return violate("never fired") }
        for (before, after) in zip(times, times.dropFirst()) where before.time == after.time {
            violate("\(before.command.id) and \(after.command.id) are of one time")
        }
        // The first time after the put fires, whichever policy there is: the coordinator starts within the grace.
        let step: Int64 = schedule.name == Torture.TortureSchedule.queued.rawValue ? 2 : 1
        let decided = (state.since.milliseconds / 1000 - first.time) / step + 1
        if state.fired + state.skipped != decided {
            violate("\(decided) times have come, \(state.fired) fired and \(state.skipped) were skipped")
        }
        switch schedule.definition.overlap {
        case .allow:
            if last.time - first.time + 1 != Int64(times.count) || state.skipped > 0 {
                violate("\(state.skipped) times were skipped, which the policy forbids")
            }
        case .skip:
            for (before, after) in zip(times, times.dropFirst())
            where before.command.updatedAt > after.command.createdAt {
                violate("\(after.command.id) began before \(before.command.id) had ended")
            }
        case .queue, .cancel: break
        }
    }
}

import Foundation
import TestSupport

/// The faults of a run, and the times at which they come. The same seed gives the same schedule.
struct FaultSchedule: Sendable {
    struct Fault: Sendable, Equatable {
        enum Kind: Sendable, Equatable {
            /// SIGKILL.
            case kill(slot: Int)
            /// SIGSTOP, and SIGCONT after this time; nil for never.
            case stop(slot: Int, resumeAfter: Duration?)
            /// The wall clock of every process is set to the true time and this offset.
            case clock(offset: Duration, awaitsReport: Bool)
            /// Everything ends, runs for a while under `sluice up`, and is started again part by part.
            case restart(isKilled: Bool, upIsKilled: Bool, runsFor: Duration)
            /// A backup of the running store.
            case backup
            /// The newest backup is put back, the whole or one shard of it, given as a fraction of their number.
            case restore(isKilled: Bool, shard: Double?)
        }

        /// The time since the previous fault.
        var after: Duration
        var kind: Kind

        var name: Name {
            switch kind {
            case .kill: .kill
            case .stop: .stop
            case .clock: .clock
            case .restart: .restart
            case .backup: .backup
            case .restore: .restore
            }
        }
    }

    enum Name: String, CaseIterable, Sendable {
        case kill, stop, clock, restart, backup, restore
    }

    let faults: [Fault]

    /// - Parameters:
    ///   - count: the number of faults. Of each 60, about 32 are kills, 8 stops, 8 changes of the clock, 4 restarts, 4 backups
    ///     and 4 restores.
    ///   - slots: the number of processes: 0 is the coordinator, then come the workers, and the last is the door.
    init(count: Int, slots: Int, using random: inout SeededRandom) {
        var faults: [Fault] = []
        var deck: [Name] = []
        var hasBackup = false
        while faults.count < count {
            if deck.isEmpty { deck = Self.deck.shuffled(using: &random) }
            // 0.2 to 2 s, with evenly distributed logarithms: bursts and pauses.
            let after = Duration.milliseconds(Int64(200 * pow(10, random.fraction())))
            var name = deck.removeLast()
            // A restore needs a backup.
            if name == .restore, !hasBackup { name = .backup }
            if name == .backup { hasBackup = true }
            faults.append(Fault(after: after, kind: Self.kind(name, slots, &random)))
        }
        self.faults = faults
    }

    private static let deck: [Name] =
        Array(repeating: .kill, count: 8) + [.stop, .stop, .clock, .clock, .restart, .backup, .restore]

    private static let longestStopMilliseconds = 4000
    /// Of a process that goes on afterwards.
    static let longestStop = Duration.milliseconds(longestStopMilliseconds)

    private static func kind(_ name: Name, _ slots: Int, _ random: inout SeededRandom) -> Fault.Kind {
        let slot = random.number(in: 0..<slots)
        switch name {
        case .kill: return .kill(slot: slot)
        case .stop:
            // Only a supervisor kills a stopped coordinator, and no process kills a stopped door.
            let resumes = slot == 0 || slot == slots - 1 || random.chance(0.6)
            return .stop(
                slot: slot,
                resumeAfter: resumes ? .milliseconds(Int64(random.number(in: 50..<longestStopMilliseconds))) : nil)
        case .clock:
            // Seconds to three days from the true time, forward or back, with evenly distributed logarithms. A third of the
            // changes puts the clock right.
            let size = Int64(2 * pow(129_600, random.fraction()))
            let offset: Int64 = random.chance(0.33) ? 0 : random.chance(0.5) ? size : -size
            return .clock(offset: .seconds(offset), awaitsReport: random.chance(0.7))
        case .restart:
            return .restart(
                isKilled: random.chance(0.5), upIsKilled: random.chance(0.5),
                runsFor: .milliseconds(Int64(random.number(in: 200..<2500))))
        case .backup: return .backup
        case .restore:
            return .restore(isKilled: random.chance(0.5), shard: random.chance(0.5) ? random.fraction() : nil)
        }
    }
}

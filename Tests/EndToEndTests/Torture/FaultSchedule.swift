import TestSupport

/// The times at which processes are killed or stopped. The same seed gives the same schedule.
struct FaultSchedule: Sendable {
    struct Fault: Sendable, Equatable {
        enum Kind: Sendable, Equatable {
            case kill
            /// SIGSTOP, and SIGCONT after this time; nil for never.
            case stop(resumeAfter: Duration?)
        }

        /// The time since the previous fault.
        var after: Duration
        /// The slot of the process: 0 is the coordinator, then come the workers, and the last is the door.
        var victim: Int
        var kind: Kind
    }

    let faults: [Fault]

    /// - Parameters:
    ///   - kills: the number of SIGKILLs; stops are additional.
    ///   - slots: the number of processes.
    init(kills: Int, slots: Int, using random: inout SeededRandom) {
        var faults: [Fault] = []
        var left = kills
        while left > 0 {
            // 0.2 to 2 s, with evenly distributed logarithms: bursts and pauses.
            let after = Duration.milliseconds(Int64(200 * pow10(random.fraction())))
            let victim = random.number(in: 0..<slots)
            if random.chance(0.2) {
                // Only a supervisor kills a stopped coordinator, and no process kills a stopped door.
                let resumes = victim == 0 || victim == slots - 1 || random.chance(0.6)
                let pause = Duration.milliseconds(Int64(random.number(in: 50..<4000)))
                faults.append(Fault(after: after, victim: victim, kind: .stop(resumeAfter: resumes ? pause : nil)))
            } else {
                faults.append(Fault(after: after, victim: victim, kind: .kill))
                left -= 1
            }
        }
        self.faults = faults
    }
}

/// 10 to the power of a number from 0 to 1, as a series, so that no mathematics library is needed.
private func pow10(_ exponent: Double) -> Double {
    var result = 1.0
    var term = 1.0
    for step in 1..<20 {
        term *= exponent * 2.302_585_092_994_046 / Double(step)
        result += term
    }
    return result
}

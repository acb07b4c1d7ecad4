/// When a child that died is started again, and when dying has become hopeless. Pure: told the time, never asks for it.
package struct RestartPolicy: Sendable, Equatable {
    /// Before the first restart; each further death doubles it.
    package var firstDelay: Duration = .milliseconds(100)
    package var maximumDelay: Duration = .seconds(5)
    /// A child that lived for so long begins with the first delay again.
    package var healthyAfter: Duration = .seconds(10)
    /// So many deaths of one child…
    package var deathLimit = 5
    /// …within so long end the whole.
    package var deathWindow: Duration = .seconds(10)

    package init() {}

    /// What one child has been through.
    package struct History: Sendable, Equatable {
        /// The deaths within the window, in nanoseconds of the monotonic clock.
        var deaths: [Int64] = []
        /// The delay before the last restart; zero before the first.
        var lastDelay: Duration = .zero

        package init() {}
    }

    package enum Verdict: Sendable, Equatable {
        case restart(after: Duration)
        case giveUp
    }

    /// A death that nobody ordered.
    ///
    /// - Parameters:
    ///   - now: nanoseconds of the monotonic clock.
    ///   - lived: from start to death.
    package func verdict(at now: Int64, lived: Duration, history: inout History) -> Verdict {
        history.deaths.removeAll { Duration.nanoseconds(now - $0) >= deathWindow }
        history.deaths.append(now)
        if history.deaths.count >= deathLimit { return .giveUp }
        let isHealthy = lived >= healthyAfter
        let doubled = history.lastDelay == .zero ? firstDelay : history.lastDelay * 2
        history.lastDelay = min(isHealthy ? firstDelay : doubled, maximumDelay)
        return .restart(after: history.lastDelay)
    }
}

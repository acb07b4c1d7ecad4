package import Host

/// Decides when a child that died is started again, and when the supervisor gives up. Pure: the time is
/// passed in.
package struct RestartPolicy: Sendable, Equatable {
    /// The delay before the first restart; each further death doubles it.
    package var firstDelay: Duration = .milliseconds(100)
    package var maxDelay: Duration = .seconds(5)
    /// A child that lived for this long begins with the first delay again.
    package var healthyAfter: Duration = .seconds(10)
    /// The supervisor gives up at this number of deaths of one child within ``deathWindow``, before it was ready.
    package var deathLimit = 5
    package var deathWindow: Duration = .seconds(10)

    package init() {}

    /// The recent deaths of one child.
    package struct History: Sendable, Equatable {
        /// Within the window.
        var deaths: [MonotonicTime] = []
        /// The delay before the last restart; zero before the first.
        var lastDelay: Duration = .zero

        package init() {}
    }

    package enum Verdict: Sendable, Equatable {
        case restart(after: Duration)
        case giveUp
    }

    /// Judges a death that the supervisor did not cause.
    ///
    /// - Parameters:
    ///   - now: the time of the death.
    ///   - lived: from start to death.
    ///   - wasReady: the child had been ready. A command that kills its worker, or a person, is then the cause, and not
    ///     a child that cannot start: it is started again for as long as it takes.
    package func verdict(
        at now: MonotonicTime, lived: Duration, wasReady: Bool = false, history: inout History
    ) -> Verdict {
        history.deaths.removeAll { now - $0 >= deathWindow }
        if !wasReady { history.deaths.append(now) }
        if history.deaths.count >= deathLimit { return .giveUp }
        let isHealthy = lived >= healthyAfter
        let doubled = history.lastDelay == .zero ? firstDelay : history.lastDelay * 2
        history.lastDelay = min(isHealthy ? firstDelay : doubled, maxDelay)
        return .restart(after: history.lastDelay)
    }
}

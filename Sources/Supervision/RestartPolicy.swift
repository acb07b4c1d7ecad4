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

    /// The reason of a death, as far as it decides about the next start.
    package enum Cause: Sendable, Equatable {
        /// The child cannot start. This alone counts towards ``RestartPolicy/deathLimit``.
        case start
        /// The child had been ready: a command that kills its worker, or a person, has ended it. Or the others need no
        /// such child. It is started again for as long as it takes.
        case unrelated
        /// A condition that may pass, such as a full disk: the child is tried again each ``RestartPolicy/maxDelay``, for
        /// as long as it takes.
        case passing
    }

    /// Judges a death that the supervisor did not cause.
    ///
    /// - Parameters:
    ///   - now: the time of the death.
    ///   - lived: from start to death.
    package func verdict(
        at now: MonotonicTime, lived: Duration, cause: Cause = .start, history: inout History
    ) -> Verdict {
        history.deaths.removeAll { now - $0 >= deathWindow }
        if cause == .passing { return .restart(after: maxDelay) }
        if cause == .start { history.deaths.append(now) }
        if history.deaths.count >= deathLimit { return .giveUp }
        let isHealthy = lived >= healthyAfter
        let doubled = history.lastDelay == .zero ? firstDelay : history.lastDelay * 2
        history.lastDelay = min(isHealthy ? firstDelay : doubled, maxDelay)
        return .restart(after: history.lastDelay)
    }
}

package import Commands

/// The result of a round over schedules.
package struct ScheduleRound: Sendable {
    /// A schedule that has changed.
    package struct Change: Sendable {
        package var name: String
        package var decision: ScheduleDecision
        /// The commands or flows, one for each time of the decision.
        package var ids: [CommandID]
    }

    package var changes: [Change] = []
    package var effects = Effects()
    /// The name of the last schedule that was looked at; nil where the round has come to the end.
    package var next: String?
    /// Why a schedule could not be read or fired, a sentence each. It stays as it is.
    package var problems: [String] = []
}

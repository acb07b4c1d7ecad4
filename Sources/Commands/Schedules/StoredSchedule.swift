/// A schedule in a store.
package struct StoredSchedule: Sendable, Equatable {
    package var definition: ScheduleDefinition
    package var action: ScheduleAction
    package var state: ScheduleState
    /// `sluice.yaml` has written its text last, and removes it.
    package var isConfigured = false

    package init(definition: ScheduleDefinition, action: ScheduleAction, state: ScheduleState) {
        self.definition = definition
        self.action = action
        self.state = state
    }

    package var name: String { definition.name }
}

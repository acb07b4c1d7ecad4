package import Door

/// The API `/api/v1`.
package struct APIPart: DoorPart {
    private let actions: ActionRuns

    /// - Parameter actions: the bulk actions of the door, which the pages begin too.
    package init(_ actions: ActionRuns) { self.actions = actions }

    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] {
        let api = API(context, actions: actions)
        return api.commandEndpoints + api.controlEndpoints + api.actionEndpoints + api.systemEndpoints
            + api.relationEndpoints + api.settingEndpoints + api.limitEndpoints + api.scheduleEndpoints
            + api.webhookEndpoints + api.uploadEndpoints
            + api.tokenEndpoints
            + api.problemEndpoints
            + (try api.documentEndpoints())
    }

    package func run(_ context: DoorContext) async throws {
        do { try await Task.sleep(for: .seconds(Int64.max / 1_000_000_000)) } catch { await actions.stop() }
    }
}

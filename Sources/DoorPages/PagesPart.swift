package import Door
package import DoorLive

/// The pages for a person: rendered on the server, usable without a script.
package struct PagesPart: DoorPart {
    private let live: LivePart

    private let actions: ActionRuns

    /// - Parameter actions: the bulk actions of the door, which the API begins too.
    package init(_ live: LivePart, actions: ActionRuns) {
        self.live = live
        self.actions = actions
    }

    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] {
        Self.endpoints(context, live, actions)
    }

    static func endpoints(_ context: DoorContext, _ live: LivePart, _ actions: ActionRuns) -> [Endpoint] {
        let route = PageRoute(services: PageServices(context: context, live: live))
        return [Assets.endpoint] + LoginPage(route: route).endpoints + OverviewPage(route: route).endpoints
            + CommandsPage(route: route, actions: actions).endpoints + OneCommandPage(route: route).endpoints
            + ActionPage(route: route, actions: actions).endpoints + LinksPage(route: route).endpoints
            + WorkersPage(route: route).endpoints + UploadsPage(route: route).endpoints
            + DropPage(route: route).endpoints + FlowsPage(route: route).endpoints
            + SchedulesPage(route: route).endpoints + BatchesPage(route: route).endpoints
            + LimitsPage(route: route).endpoints + KeysPage(route: route).endpoints
    }
}

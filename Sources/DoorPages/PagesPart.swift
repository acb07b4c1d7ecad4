package import Door
package import DoorLive

/// The pages for a person.
package struct PagesPart: DoorPart {
    private let live: LivePart

    package init(_ live: LivePart) { self.live = live }

    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] { [] }
}

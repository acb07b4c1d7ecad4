package import Door

/// The API `/api/v1`.
package struct APIPart: DoorPart {
    package init() {}

    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] { [] }
}

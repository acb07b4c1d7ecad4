internal import Commands

/// A destination and a direction.
struct LinkName: Hashable, Sendable {
    var destination: Destination
    var direction: Direction
}

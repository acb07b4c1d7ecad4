extension DoorRequest {
    /// The origin of a change, for the reasons of transitions: `token “studio” at 192.0.2.7`.
    package var actor: String {
        "\(principal.map { "token “\($0.name)”" } ?? "a client") at \(client)"
    }
}

package import Commands
internal import Store

extension Principal {
    /// Why its token does not permit the submit of a command, in a sentence; nil where it does. Scopes are checked before.
    package func objection(toType type: String, destination: Destination) -> String? {
        if let types, !types.contains(type) {
            return "The token “\(name)” may not submit commands of the type “\(type)”; it may submit "
                + "\(types.sorted().joined(separator: ", "))."
        }
        guard let destinations, !destinations.contains(destination) else { return nil }
        return "The token “\(name)” may not submit commands to \(destination); it may submit to "
            + "\(destinations.map(\.text).sorted().joined(separator: ", "))."
    }

    /// Whether a token of its name, or a grant of such a token, has created the upload.
    package func owns(_ upload: Upload) -> Bool {
        upload.facts.token == owner || grant == nil && upload.facts.grant?.maker == owner
    }

    /// Whether its uploads may take a route.
    package func mayUse(route: String) -> Bool { routes?.contains(route) ?? true }
}

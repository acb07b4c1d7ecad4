package import Commands

/// Destinations in sentences for people.
package enum DestinationText {
    /// A destination without the port that its scheme implies.
    package static func name(_ destination: Destination) -> String {
        var text = destination.text
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")] where text.hasPrefix(scheme) {
            text = String(text.dropFirst(scheme == "https://" ? scheme.count : 0))
            if text.hasSuffix(port) { text = String(text.dropLast(port.count)) }
        }
        return text.hasPrefix("file://") ? "this machine" : text
    }

    /// A clause about a destination, behind its name. Many clauses begin with the destination: it is not said twice.
    package static func sentence(_ clause: String, of destination: Destination) -> String {
        let isNamed = destination != .none && clause.hasPrefix("\(destination.text) ")
        let name = destination == .none ? "Commands without a destination" : name(destination)
        return isNamed ? name + clause.dropFirst(destination.text.count) : "\(name): \(clause)"
    }
}

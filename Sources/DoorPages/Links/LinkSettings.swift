internal import Commands
internal import Console
internal import Door
internal import Hummingbird
internal import Logging
internal import NetworkControl
internal import Queue

/// The settings of a link that an operator changes.
enum LinkSettings {
    /// The name and direction in the path.
    static func link(of visit: Visit) throws(Problem) -> (name: String, direction: Direction) {
        let parameters = visit.request.parameters
        let name = LinkView.name(part: parameters["name"] ?? "")
        guard let direction = Direction(rawValue: parameters["direction"] ?? ""),
            name.hasPrefix("*") || Destination(name) != nil
        else {
            throw Problem(.notFound, "not-found", "There is no such link; the list of links has those that are known.")
        }
        return (name, direction)
    }

    static func change(_ visit: Visit, _ form: FormFields) async throws -> Response {
        let (name, direction) = try link(of: visit)
        let page = PageLink("links", direction.rawValue, LinkView.part(name))
        guard let destination = Destination(name) else {
            throw Problem(.badRequest, "link-not-found", "An uplink has no settings; change those of a destination.")
        }
        if let pause = form["pause"] {
            let client = visit.services.context.client
            if pause == "yes" {
                try await client.pause(destination: destination)
                return visit.done("Nothing new begins there; running commands continue.", back: nil, or: page)
            }
            try await client.resume(destination: destination)
            return visit.done("It goes on.", back: nil, or: page)
        }
        var change = LinkOverrideChange()
        if let level = form["level"] { change.isOffline = level == "offline" }
        if let text = form["rate"] {
            let rate = RateText.bytesPerSecond(text).flatMap { $0 >= DestinationLimits.minRate ? $0 : nil }
            guard text == "none" || rate != nil else {
                return visit.done(
                    "A limit is 20Mbit, 250kB or bytes per second, at least 1000.", isProblem: true, back: nil, or: page
                )
            }
            change.maxRate = .some(rate)
        }
        _ = try await visit.services.write { [change] queue in
            try queue.changeLink(to: destination, change)
        }
        visit.services.context.logger.notice(
            "The settings of a link were changed.",
            metadata: ["link": "\(destination)", "by": "\(visit.request.actor)"])
        return visit.done("The link has its new settings.", back: nil, or: page)
    }
}

package import Commands
package import HTTPClient
package import Settings
package import Transfers

/// The section `door.submit`: which commands may be submitted over HTTP. A token may narrow it, and never widen it.
///
/// A submit over HTTP is not one on this machine: its client must not name files of the worker's user, start programs, or
/// make a worker talk to addresses that only this network reaches.
package struct SubmitAllowance: Sendable, Equatable {
    /// `door.submit.types`: the types of commands. The default is noop, request and webhook, which without an entry in
    /// ``destinations`` is noop alone.
    package var types: Set<String> = [CommandType.noop, CommandType.request, CommandType.webhook]
    /// `door.submit.destinations`: the origins that commands may talk to, with the credentials that sluice.yaml has for
    /// them. The default is none.
    package var destinations: Set<Destination> = []
    /// `door.submit.networks`: networks that the names of destinations may lead to although their addresses are not public.
    /// The default is none.
    package var networks: [IPNetwork] = []
    /// `door.submit.sources`: directories whose files commands may send. The default is none.
    package var sources: [String] = []

    /// Types that write files by paths in their payloads, or follow redirects to any origin. Routes can run them.
    package static let refusedTypes: Set<String> = [
        CommandType.cleanup, CommandType.download, CommandType.fetch, CommandType.s3, CommandType.sync,
    ]

    package init() {}

    /// The limits that workers check when a command runs that came over HTTP.
    package var confinement: Confinement {
        var confinement = Confinement()
        (confinement.destinations, confinement.networks, confinement.sources) = (destinations, networks, sources)
        return confinement
    }

    /// - Throws: ``SettingsError`` that names the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        let names = try reader.list(["door", "submit", "types"])
        if !names.isEmpty { types = Set(names) }
        if let name = names.first(where: { !CommandDraft.isType($0) || Self.refusedTypes.contains($0) }) {
            let refused = Self.refusedTypes.sorted().joined(separator: ", ")
            throw SettingsError(
                key: "door.submit.types",
                problem:
                    "takes types of commands other than \(refused), which write files or follow redirects to any origin, not “\(name)”"
            )
        }
        for text in try reader.list(["door", "submit", "destinations"]) {
            guard let destination = Destination(origin: text), !destination.isFile else {
                throw SettingsError(
                    key: "door.submit.destinations",
                    problem: "takes origins such as https://media.example.com, not “\(text)”")
            }
            destinations.insert(destination)
        }
        for text in try reader.list(["door", "submit", "networks"]) {
            guard let network = IPNetwork(text) else {
                throw SettingsError(
                    key: "door.submit.networks", problem: "takes networks such as 10.0.0.0/8, not “\(text)”")
            }
            networks.append(network)
        }
        sources = try reader.list(["door", "submit", "sources"])
        if let path = sources.first(where: { !$0.hasPrefix("/") }) {
            throw SettingsError(
                key: "door.submit.sources", problem: "takes absolute paths of directories, not “\(path)”")
        }
    }
}

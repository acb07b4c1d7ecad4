import CLinux
import Commands
import Glibc

/// Answers the requests on CONTROL.sock.
struct ControlResponder {
    let shaper: any Shaper
    let networks: Networks
    let configuration: EmulatorConfiguration

    func answer(_ request: JSONValue) throws -> JSONValue {
        var answer: JSONValue = [:]
        if let name = request["change"]?.string {
            let direction = try request["direction"]?.string.map { name in
                guard let direction = Direction(rawValue: name) else { throw Refusal("“\(name)” is not a direction") }
                return direction
            }
            try shaper.change(destination: try index(name), direction: direction, request)
        } else {
            switch request["ask"]?.string {
            case "bed": answer = bed
            case "links": answer = ["links": shaper.links]
            case "flows":
                guard let flows = shaper.flows(since: request["since"]?.integer ?? 0) else {
                    throw Refusal("the shaper \(shaper.name) records no flows")
                }
                answer = ["flows": flows, "step": .integer(FlowLedger.step)]
            default: throw Refusal("ask for “bed”, “links” or “flows”, or change a link")
            }
        }
        return .object([.init("at", .integer(clinux_monotonic()))] + (answer.members ?? []))
    }

    private var bed: JSONValue {
        [
            "shaper": .string(shaper.name), "congestion": .string(configuration.congestion),
            "pid": .integer(Int64(getpid())),
            "client": .integer(Int64(networks.client)), "server": .integer(Int64(networks.server)),
        ]
    }

    private func index(_ name: String) throws -> Int? {
        if name == "*" { return nil }
        for index in configuration.destinations.indices where name == "10.77.\(index + 1).1" { return index }
        throw Refusal(
            "there is no link “\(name)”; there are “*” and 10.77.1.1 to 10.77.\(configuration.destinations.count).1")
    }
}

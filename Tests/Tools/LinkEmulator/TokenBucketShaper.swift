import Commands
import Glibc

/// A veth pair with the kernel's token bucket (tc-tbf(8)) on both ends, for machines without TUN. It supports
/// one shared rate, without delay, loss and blackouts. The rate counts Ethernet headers, so TCP carries 1,448
/// of 1,514 bytes.
final class TokenBucketShaper: Shaper {
    let name = "tbf"
    private let networks: Networks
    private var shape: LinkShape
    private static let device = "sluice0"

    init(_ configuration: EmulatorConfiguration, _ networks: Networks) throws {
        guard configuration.destinations.allSatisfy({ $0 == nil }) else {
            throw Refusal("tbf has no links of single destinations")
        }
        self.networks = networks
        shape = configuration.uplink
        let device = Self.device
        try networks.within(.client) {
            try execute(
                "ip", "link", "add", device, "type", "veth", "peer", "name", device, "netns",
                "/proc/\(getpid())/fd/\(networks.server)")
        }
        try networks.addressClient(device)
        try networks.addressServers(device, count: configuration.destinations.count)
        try apply(shape)
    }

    private func apply(_ shape: LinkShape) throws {
        guard shape.delay == 0, shape.loss == 0, !shape.isBlackout, shape.resetEvery == nil else {
            throw Refusal("tbf shapes the rate only; delay, loss, blackout and resets need the shaper tun")
        }
        let rate = "\(Int(shape.rate ?? 10e9))bit"
        for side in [Networks.Side.client, .server] {
            try networks.within(side) {
                // A small burst: 64 kB would be a quarter of a second of free traffic at 2 Mbit/s.
                try execute(
                    "tc", "qdisc", "replace", "dev", Self.device, "root", "tbf", "rate", rate, "burst", "16kb", "limit",
                    "\(shape.queue)")
            }
        }
    }

    func change(destination: Int?, direction: Direction?, _ change: JSONValue) throws {
        guard destination == nil, direction == nil else { throw Refusal("tbf has one rate for everything") }
        let changed = try shape.changed(by: change)
        try apply(changed)
        shape = changed
    }

    func flows(since: Int64) -> JSONValue? { nil }
    var links: JSONValue { [["link": "*"]] }

    func run(until control: ControlServer, answer: (JSONValue) throws -> JSONValue) throws {
        while !control.isDeserted {
            var descriptors = control.descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&descriptors, nfds_t(descriptors.count), 1000) >= 0 || errno == EINTR else {
                throw Refusal.system("poll")
            }
            if descriptors.contains(where: { $0.revents != 0 }) { control.serve(answer) }
        }
    }
}

import CLinux
import Commands
import Coordination
import Glibc
import NetworkControl
import ZeroMQ

let far = Destination(scheme: "http", host: "203.0.113.9", port: 80)
let near = Destination(scheme: "http", host: "192.0.2.77", port: 80)
let own = Destination(scheme: "http", host: "192.0.2.10", port: 80)

func ip(_ arguments: String) {
    let status = system("ip \(arguments)")
    guard status == 0 else {
        say("ip \(arguments) ended with \(status)")
        exit(1)
    }
}

func say(_ sentence: String) {
    let line = Array("\(sentence)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
}

/// Measures the delay of ``RouteMonitor`` in its own network namespace (`unshare -Urn RouteProbe`). The program
/// changes routes with ip(8), and prints for each change the milliseconds until the watch reported it: the
/// median of five rounds. The program does not end while a report is missing; standard error shows the
/// current step.
@main struct Probe {
    static let steps: [(name: String, change: [String], isReached: @Sendable (RouteReport) -> Bool)] = [
        (
            "default route gone", ["route del default"],
            { $0.lost[""] == LinkReason(.noDefaultRoute) && $0.routes[far] == .uplink("") }
        ),
        (
            "default route back", ["route add default via 192.0.2.1"],
            { $0.lost[""] == nil && $0.routes[far] == .uplink("") }
        ),
        ("carrier gone", ["link set v1 down"], { $0.lost[""] == .route(.noCarrier, "v0") }),
        ("carrier back", ["link set v1 up"], { $0.lost[""] == nil && $0.routes[near] == .uplink("v0") }),
        (
            "interface down", ["link set v0 down"],
            { $0.lost[""] != nil && $0.lost["v0"] == .route(.interfaceDown, "v0") }
        ),
        (
            "interface up", ["link set v0 up", "route add default via 192.0.2.1"],
            { $0.lost[""] == nil && $0.routes == [far: .uplink(""), near: .uplink("v0"), own: .local] }
        ),
        (
            "default route replaced", ["route replace default via 192.0.2.2"],
            { $0.lost.isEmpty && $0.main?.gateway == [192, 0, 2, 2] }
        ),
        (
            "default route as before", ["route replace default via 192.0.2.1"],
            { $0.lost.isEmpty && $0.main?.gateway == [192, 0, 2, 1] }
        ),
    ]

    static func main() async throws {
        for command in [
            "link set lo up", "link add v0 type veth peer name v1", "link set v0 up", "link set v1 up",
            "addr add 192.0.2.10/24 dev v0", "route add default via 192.0.2.1",
        ] { ip(command) }

        let (stream, continuation) = AsyncStream<RouteReport>.makeStream()
        let loop = try PollLoop(name: "probe")
        let watcher = Watcher(loop: loop)
        try await watcher.start { continuation.yield($0) }
        var reports = stream.makeAsyncIterator()
        var last: RouteReport?

        repeat { last = await reports.next() } while last?.routes[far] != .uplink("")
        var times: [String: [Double]] = [:]
        for _ in 0..<5 {
            for step in steps {
                say(step.name)
                for command in step.change { ip(command) }
                let done = Int64(clinux_monotonic())
                while let known = last, !step.isReached(known) { last = await reports.next() }
                times[step.name, default: []].append(Double(max((last?.at ?? 0) - done, 0)) / 1e6)
            }
        }
        for step in steps {
            let sorted = (times[step.name] ?? []).sorted()
            print("\(step.name): \(sorted[sorted.count / 2])")
        }
        await watcher.stop()
        loop.stop()
    }
}

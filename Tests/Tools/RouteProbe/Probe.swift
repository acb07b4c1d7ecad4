import CLinux
import Commands
import Coordination
import Glibc
import NetworkControl
import ZeroMQ

let far = Destination(scheme: "http", host: "203.0.113.9", port: 80)
let near = Destination(scheme: "http", host: "192.0.2.77", port: 80)
let own = Destination(scheme: "http", host: "192.0.2.10", port: 80)

struct Told: Sendable {
    var routes: [Destination: Route]
    var lost: [String: String]
    var main: RouteTable.Hop?
    var at: Int64
}

/// Owns the watch, on its loop.
actor Watcher {
    private let loop: PollLoop
    private var watch: RouteWatch?
    /// All routes, of which the watch tells the changes.
    private var routes: [Destination: Route] = [:]
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: PollLoop) { self.loop = loop }

    func start(_ tell: @escaping @Sendable (Told) -> Void) throws {
        let watch = try RouteWatch(loop: loop) { [weak self] changed, lost, main in
            self?.assumeIsolated { watcher in
                watcher.routes.merge(changed) { $1 }
                tell(Told(routes: watcher.routes, lost: lost, main: main, at: Int64(clinux_monotonic())))
            }
        }
        loop.tick = { watch.tick(now: $0) }
        watch.follow(adding: [far, near, own])
        self.watch = watch
    }

    func stop() {
        watch?.stop()
        loop.tick = nil
    }
}

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

/// Runs in a network namespace of its own (`unshare -Urn RouteProbe`), changes its routes with ip(8), and prints for each
/// change how many milliseconds after it ``RouteWatch`` told the right thing: the median of some rounds. What never comes is
/// for the caller to cut short; the step under way stands on standard error.
@main struct Probe {
    static let steps: [(name: String, change: [String], isReached: @Sendable (Told) -> Bool)] = [
        (
            "default route gone", ["route del default"],
            { $0.lost[""] == "there is no default route" && $0.routes[far] == .uplink("") }
        ),
        (
            "default route back", ["route add default via 192.0.2.1"],
            { $0.lost[""] == nil && $0.routes[far] == .uplink("") }
        ),
        ("carrier gone", ["link set v1 down"], { $0.lost[""]?.contains("v0 has no carrier") == true }),
        ("carrier back", ["link set v1 up"], { $0.lost[""] == nil && $0.routes[near] == .uplink("v0") }),
        ("interface down", ["link set v0 down"], { $0.lost[""] != nil && $0.lost["v0"] == "the interface v0 is down" }),
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

        let (stream, continuation) = AsyncStream<Told>.makeStream()
        let loop = try PollLoop(name: "probe")
        let watcher = Watcher(loop: loop)
        try await watcher.start { continuation.yield($0) }
        var told = stream.makeAsyncIterator()
        var last: Told?

        repeat { last = await told.next() } while last?.routes[far] != .uplink("")
        var times: [String: [Double]] = [:]
        for _ in 0..<5 {
            for step in steps {
                say(step.name)
                for command in step.change { ip(command) }
                let done = Int64(clinux_monotonic())
                while let known = last, !step.isReached(known) { last = await told.next() }
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

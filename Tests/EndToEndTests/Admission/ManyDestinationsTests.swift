import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Two thousand destinations on addresses of 127/8, half of which refuse connections.
    @Suite(.tags(.measuresTime), .enabled(if: runsSlowTests, "slow")) struct ManyDestinationsTests {
        /// The server of the living half, and a port without a listener for the other half.
        private struct Destinations {
            let installation: Installation
            let server: ScriptedServer
            let deadPort: Int
            let file: String

            private func origin(_ number: Int, net: Int, port: Int) -> String {
                BedDestination.origin(loopback: number, net: net, port: port)
            }

            /// Submits a command for each URL. The path of a URL ends in the number of the command.
            private func submit(_ urls: [String], qos: String = "default") async throws -> [CommandID] {
                let lines = urls.enumerated().map { number, url in
                    #"{"payload":{"file":"\#(file)","to":"\#(url)\#(number)","protocol":"put"}}"#
                }
                return try await installation.sluice(
                    "submit", "upload", "--qos", qos, "--payload", "-", input: lines.joined(separator: "\n")
                ).ids
            }

            func submitToDead(_ count: Int, each: Int) async throws -> [CommandID] {
                let urls = (0..<count).map { origin($0, net: 2, port: deadPort) + "/dead/" }
                return try await submit((0..<each).flatMap { _ in urls })
            }

            func submitToLiving(_ count: Int) async throws -> [CommandID] {
                try await submit((0..<count).map { origin($0, net: 1, port: server.port) + "/living/" })
            }

            /// Submits low commands to the living destinations, `each` to every one.
            func submitDeep(_ count: Int, each: Int) async throws -> [CommandID] {
                let urls = (0..<count).map { origin($0, net: 1, port: server.port) + "/deep/" }
                return try await submit((0..<each).flatMap { _ in urls }, qos: "utility")
            }

            func succeeded(_ path: String) -> Int {
                server.requests.count { $0.answered == 201 && $0.target.hasPrefix(path) }
            }

            /// Seconds from the submit of `count` commands to one living destination until all are answered.
            func seconds(of count: Int, path: String, within limit: Duration) async throws -> Double {
                let begin = MonotonicTime.now
                let origin = "http://127.0.0.1:\(server.port)"
                #expect(try await submit([String](repeating: "\(origin)\(path)", count: count)).count == count)
                do {
                    try await until("\(count) commands", within: limit) { succeeded(path) >= count }
                } catch {
                    throw Missed("\(error): \(succeeded(path)) of them are done")
                }
                return (MonotonicTime.now - begin).seconds
            }
        }

        private static let count = 2000
        /// Ends a test that hangs. Each measurement is compared with one without dead destinations.
        private static let timeout: Duration = .seconds(120)

        private func with(_ body: (Destinations, ChildProcess) async throws -> Void) async throws {
            var options = ScriptedServer.Options()
            options.host = "0.0.0.0"
            options.hashes = false
            options.keepsHeaders = false
            let server = try await ScriptedServer(options)
            do {
                try await Installation.with { installation in
                    let up = try await installation.up(workers: 2, "--concurrency", "32")
                    let file = try installation.directory.file("a.bin", [UInt8](repeating: 7, count: 1000))
                    let destinations = Destinations(
                        installation: installation, server: server, deadPort: try freePort(), file: file)
                    try await body(destinations, up)
                }
            } catch {
                await server.stop()
                throw error
            }
            await server.stop()
        }

        private func coordinatorDeaths(_ up: ChildProcess) -> Int {
            up.errors.split(separator: "\n").count { $0.contains("A child died") && $0.contains("coordinator") }
        }

        private func coordinator(_ installation: Installation) async throws -> Int32 {
            let pid = try await installation.status()?["coordinator"]?["pid"]?.integer
            return Int32(try #require(pid))
        }

        @Test func `a thousand dead destinations delay no living one, and use little processor time`() async throws {
            try await with { destinations, _ in
                let alone = try await destinations.seconds(of: 1000, path: "/alone/", within: Self.timeout)
                let dead = try await destinations.submitToDead(Self.count / 2, each: 4)
                #expect(dead.count == Self.count * 2)
                let beside = try await destinations.seconds(of: 1000, path: "/beside/", within: Self.timeout)
                // In a debug build the ticks of the coordinator take up to two thirds of a processor here.
                print("a thousand commands: \(alone) s alone, \(beside) s beside dead destinations")
                #expect(beside <= alone * 5, "\(alone) s alone")
                let living = try await destinations.submitToLiving(Self.count / 2)
                try await until("the living ones", within: Self.timeout) {
                    destinations.succeeded("/living/") >= living.count
                }
                let installation = destinations.installation
                for subcommand in ["status", "network"] {
                    let lines = try await installation.sluice(subcommand).lines
                    #expect(lines.count <= 60, "\(subcommand)")
                    let all = try await installation.sluice(subcommand, "--all").lines
                    #expect(all.count > Self.count / 2, "\(subcommand)")
                }
                let memory = processMemory(try await coordinator(installation)) ?? .infinity
                #expect(memory <= 150, "MB")
            }
        }

        /// Seconds of a command beside dead destinations, and from the death of the coordinator to the answer of another one
        /// that is submitted then.
        private func secondsOfRestart(dead: Int) async throws -> (command: Double, restart: Double) {
            let command = Shared(0.0)
            let restart = Shared(0.0)
            try await with { destinations, up in
                if dead > 0 { _ = try await destinations.submitToDead(dead, each: 4) }
                let seconds = try await destinations.seconds(of: 1, path: "/before/", within: Self.timeout)
                command.change { $0 = seconds }
                let pid = try await coordinator(destinations.installation)
                let killed = MonotonicTime.now
                kill(pid, SIGKILL)
                _ = try await destinations.seconds(of: 1, path: "/restarted/", within: Self.timeout)
                restart.change { $0 = (MonotonicTime.now - killed).seconds }
                #expect(coordinatorDeaths(up) == 1)
            }
            return (command.value, restart.value)
        }

        /// A coordinator that tried the dead ones first would need 160 s for them, at 25 a second.
        @Test func `a killed coordinator dispatches again within seconds beside a thousand dead destinations`()
            async throws
        {
            let alone = try await secondsOfRestart(dead: 0)
            let beside = try await secondsOfRestart(dead: Self.count / 2)
            print("restart of the coordinator: \(alone) s alone, \(beside) s beside dead destinations")
            #expect(beside.restart <= 10 * (alone.restart + beside.command), "\(alone) s alone, \(beside) s beside")
        }

        /// Processor time of the coordinator in a while, after every dead destination was tried.
        private func idleTime(dead: Int) async throws -> Double {
            let used = Shared(0.0)
            try await with { destinations, _ in
                let ids = try await destinations.submitToDead(dead, each: 1)
                let store = try destinations.installation.store()
                try await until("every first try", within: Self.timeout) {
                    try ids.allSatisfy { try store.command($0)?.claim ?? 0 > 0 }
                }
                let pid = try await coordinator(destinations.installation)
                let before = processorTime(pid) ?? 0
                try await Task.sleep(for: .seconds(10))
                used.change { $0 = (processorTime(pid) ?? .infinity) - before }
            }
            return used.value
        }

        /// Other instances of the kind are unit tests that count probes, look-ups and links: `DeadDestinationTests`.
        @Test func `the processor time of an idle coordinator does not grow with the number of dead destinations`()
            async throws
        {
            let few = try await idleTime(dead: Self.count / 4)
            let many = try await idleTime(dead: Self.count)
            #expect(many <= few * 2 + 0.5, "\(few) s and \(many) s in 10 s")
        }

        @Test func `a pause of a quality of service takes effect at once for a thousand destinations with a backlog`()
            async throws
        {
            try await with { destinations, up in
                try destinations.server.run("PUT /deep/* : read; wait 20ms; answer 201")
                let deep = try await destinations.submitDeep(Self.count / 2, each: 50)
                #expect(deep.count == Self.count * 25)
                try await until("the first of them") { destinations.succeeded("/deep/") >= Self.count / 4 }
                let alone = try await destinations.seconds(of: 1, path: "/alone/", within: Self.timeout)
                let paused = try await destinations.installation.sluice("pause", "--qos", "utility")
                let returned = MonotonicTime.now
                #expect(paused.code == 0, "\(paused.errors)")
                // Other commands run meanwhile, for longer than the pause may take.
                _ = try await destinations.seconds(of: 300, path: "/default/", within: Self.timeout)
                let late = destinations.server.requests.filter { $0.target.hasPrefix("/deep/") }.map {
                    $0.began - returned
                }
                print("a pause: \(alone) s for one command, the last request after \(late.max() ?? .zero)")
                // A pause that waits for a sweep or the backlog takes seconds. Requests that have begun still end, and a busy
                // machine delays them as it delays one command.
                #expect((late.max() ?? .zero).seconds <= 20 * alone, "\(alone) s for one command")
                #expect(destinations.succeeded("/deep/") < deep.count)
                #expect(coordinatorDeaths(up) == 0)
            }
        }
    }
}

/// The peak memory of a process, in MB of 10⁶ bytes (proc_pid_status(5): VmHWM).
private func processMemory(_ process: Int32) -> Double? {
    let status = String(decoding: contents(of: "/proc/\(process)/status") ?? [], as: UTF8.self)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    guard let words = line?.split(whereSeparator: \.isWhitespace), words.count > 1 else { return nil }
    return Double(words[1]).map { $0 * 1024 / 1e6 }
}

/// The processor time of a process in seconds (proc_pid_stat(5): utime and stime).
private func processorTime(_ process: Int32) -> Double? {
    let text = String(decoding: contents(of: "/proc/\(process)/stat") ?? [], as: UTF8.self)
    let words = text.drop { $0 != ")" }.split(whereSeparator: \.isWhitespace)
    guard words.count > 13, let user = Double(words[12]), let system = Double(words[13]) else { return nil }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
}
